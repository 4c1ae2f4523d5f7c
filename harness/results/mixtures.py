"""Records that can't share a table: other data, another protocol, another precision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.errors import StudyError

Record = Mapping[str, Any]
Key = tuple[str, str, str]
"""Checkpoint, task and the identity of a recipe."""

SHOWN_IDS = 3


def refuse_mixtures(records: Mapping[Key, Sequence[Record | None]]) -> None:
    """Refuse good records of one task that were made under different conditions.

    Looks at the fingerprint of each split and the protocol within a task, across checkpoints
    too, which a table compares down a column; and at the precision within a point. Raises
    StudyError with the field, its values and the run_ids.
    """
    seen: dict[tuple[str, ...], dict[Any, list[str]]] = {}
    for (_, task, recipe), of_point in records.items():
        for record in of_point:
            if record is None or record["status"] != "ok":
                continue
            for field, value, group in _conditions(record, task, recipe):
                seen.setdefault((task, field, group), {}).setdefault(value, []).append(
                    record["run_id"]
                )
    faults = [
        f"task {task!r}: {field} differs: {_values(found)}"
        for (task, field, _), found in seen.items()
        if len(found) > 1
    ]
    if faults:
        raise StudyError(
            "\n".join(faults)
            + "\nThese runs can't share a table. Something changed while the study "
            "was being made; run the planned runs again in a new study folder."
        )


def _conditions(record: Record, task: str, recipe: str) -> Iterable[tuple[str, Any, str]]:
    for role, fingerprint in (record.get("splits") or {}).items():
        yield f"the data of the {role} split", fingerprint, ""
    yield "protocol", record.get("protocol"), ""
    yield "precision", record.get("precision"), recipe


def _values(found: Mapping[Any, list[str]]) -> str:
    return "; ".join(f"{value} in {', '.join(_some(ids))}" for value, ids in found.items())


def _some(run_ids: Sequence[str]) -> Iterator[str]:
    yield from run_ids[:SHOWN_IDS]
    if len(run_ids) > SHOWN_IDS:
        yield f"{len(run_ids) - SHOWN_IDS} more"
