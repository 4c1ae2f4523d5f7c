"""What can't share a table, or a cell of it: other data, another protocol, another precision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import StudyError

if TYPE_CHECKING:
    from harness.results.cells import Cell

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


def refuse_unlike(groups: Iterable[Iterable[Cell]], sweep: Collection[str]) -> None:
    """Refuse to average rows that were not made in the same way, or that are one checkpoint.

    On one task the recipes of all cells must agree but for what is swept; and within a group a
    checkpoint that was read in two ways (attention, pooling) would count as two. Raises StudyError
    with the rows and what they differ in.
    """
    first: dict[str, Cell] = {}
    for group in groups:
        own: dict[tuple[str, str], Cell] = {}
        for cell in group:
            twin = own.setdefault((cell.task.name, cell.name), cell)
            other = first.setdefault(cell.task.name, cell) if twin is cell else twin
            fields = sorted(_unlike(other, cell, sweep)) if other is not cell else []
            if twin is not cell and not fields:
                fields = [n for n in cell.columns if cell.columns[n] != twin.columns.get(n)]
            if fields:
                raise StudyError(
                    f"task {cell.task.name!r}: {other.checkpoint!r} and {cell.checkpoint!r} differ "
                    f"in {', '.join(fields)}, so they are not taken together; keep one value "
                    f"(--where {fields[0]}=VALUE)"
                )


def _unlike(one: Cell, other: Cell, sweep: Collection[str]) -> Iterator[str]:
    """Name the fields that differ in the recipes of two cells though nothing sweeps them."""
    recipes = [cell.recipes[0].model_dump(mode="json") for cell in (one, other)]
    for field in recipes[0].keys() | recipes[1].keys():
        if field not in {"learning_rate", *sweep} and recipes[0].get(field) != recipes[1].get(
            field
        ):
            yield field


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
