"""Rows as a source gave them, before they are checked against a task card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.errors import DataError


@dataclass(frozen=True)
class Rows:
    """Columns of equal length, and where each row lies in its file.

    `origin` is a path or a hub id; `lines` the 1-based line of each row, if it has lines;
    `class_names` the names behind integer columns, for sources that declare them (the hub does);
    `left_out` counts the rows with too few fields, None where such rows are refused.
    """

    columns: dict[str, list[Any]]
    origin: str
    lines: Sequence[int] | None = None
    class_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: int | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def place(self, row: int) -> str:
        """Say where a row lies, as `file:line`, or `origin: row N` (0-based) without lines."""
        if self.lines is None:
            return f"{self.origin}: row {row}"
        return f"{self.origin}:{self.lines[row]}"

    def renamed(self, rename: Mapping[str, str]) -> Rows:
        """Give columns their card names; a renamed column wins over one that had the name."""
        new_names = {old: new for old, new in rename.items() if old in self.columns}
        taken = set(new_names.values())
        columns = {
            new_names.get(name, name): values
            for name, values in self.columns.items()
            if name in new_names or name not in taken
        }
        class_names = {new_names.get(name, name): names for name, names in self.class_names.items()}
        return replace(self, columns=columns, class_names=class_names)

    def column(self, name: str) -> list[Any]:
        """Give the values of a column; DataError where the source has none of that name."""
        if name not in self.columns:
            raise DataError(
                f"{self.origin}: no column {name!r}; it has {', '.join(map(repr, self.columns))}. "
                "Name the right column in the task card, or map it there with `rename`"
            )
        return self.columns[name]
