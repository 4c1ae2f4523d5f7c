"""`checkpoints.yaml` beside the folders: what is known of them, and rows that read one otherwise.

610m-clm-42k: {family: llama, tokens: 100e9}
610m-clm-42k-both-ways: {folder: 610m-clm-42k, attention: bidirectional}
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, TypeAdapter, model_validator

from harness.checkpoints.folders import Found
from harness.checkpoints.naming import Columns
from harness.errors import SpecError
from harness.spec import Attention, Pooling, Spec
from harness.yamlio import load_yaml, locate

FILE = "checkpoints.yaml"
_CLOSE = 0.75


class Known(Spec):
    """What is said of a checkpoint: how it is read, and columns of any name."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)
    __pydantic_extra__: dict[str, str | int | float | bool] = Field(init=False)

    folder: str | None = Field(None, description="of a row whose name is not that of its folder")
    attention: Attention | None = None
    pooling: Pooling | None = None

    @model_validator(mode="before")
    @classmethod
    def _misspells_no_key(cls, value: Any) -> Any:
        # A misspelt `atention` would be a column, and the checkpoint read otherwise than meant.
        keys = list(cls.model_fields)
        for key in value if isinstance(value, dict) else ():
            close = difflib.get_close_matches(str(key), keys, n=1, cutoff=_CLOSE)
            if close and key not in keys:
                raise ValueError(f"{key!r} is nearly {close[0]!r}; spell it so, or rename it")
        return value

    @property
    def columns(self) -> Columns:
        """All that is no key of its own."""
        return dict(self.model_extra or {})


_ADAPTER = TypeAdapter(dict[str, Known])
_NOTHING = Known()


class Beside:
    """The entries of the file that lies beside some folders, if there is one."""

    def __init__(self, folder: Path, found: Sequence[Found], names: Sequence[str]) -> None:
        self.path = folder / FILE
        entries = load_yaml(self.path, _ADAPTER) if self.path.is_file() else {}
        self._own: dict[Found, Known] = {}
        self._rows: dict[Found, list[tuple[str, Known]]] = {}
        for key, entry in entries.items():
            meant = self._meant(key, entry.folder or key, found, names)
            if meant is None:
                continue
            if entry.folder is None:
                if meant in self._own:
                    where = locate(self.path, (key,))
                    raise SpecError(f"{where}: {key}: {meant.path.name} has an entry already")
                self._own[meant] = entry
            else:
                self._rows.setdefault(meant, []).append((key, entry))

    def own(self, found: Found) -> Known:
        """Give what is said of a folder under its own name."""
        return self._own.get(found, _NOTHING)

    def rows(self, found: Found) -> list[tuple[str, Known]]:
        """Give the further rows of a folder: name and entry."""
        return self._rows.get(found, [])

    def _meant(
        self, key: str, wanted: str, found: Sequence[Found], names: Sequence[str]
    ) -> Found | None:
        """Find the folder that an entry means: by its path from here, its last name, or its name.

        None where it lies here but was not asked for.
        """
        path = wanted.strip("/")
        by_path = [one for one in found if one.path == self.path.parent / path]
        by_name = [
            one for one, name in zip(found, names, strict=True) if path in {name, one.path.name}
        ]
        meant = by_path or by_name
        if len(meant) == 1:
            return meant[0]
        where = locate(self.path, (key,))
        if meant:
            places = ", ".join(str(one.path.relative_to(self.path.parent)) for one in meant)
            raise SpecError(f"{where}: {key}: {wanted!r} is the name of {places}; write the path")
        if (self.path.parent / path).is_dir():
            return None
        close = difflib.get_close_matches(path, [one.path.name for one in found], n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise SpecError(f"{where}: {key}: there is no folder {wanted!r} here{hint}")
