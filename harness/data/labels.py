"""Gold labels as the numbers that a task card means: classes, tags, scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.data.rows import Rows
from harness.errors import DataError

_UNLABELLED = frozenset({"", "-1", "none", "null", "nan"})
_NO_LABEL = (
    "has no label (it is {value!r}); a split without labels can't be scored: "
    "choose another file or split in the task card"
)


def class_indices(rows: Rows, column: str, labels: Sequence[str]) -> NDArray[np.int64]:
    """Map a column to indices into the card's labels: by name, or else by number.

    Names of classes that the source declares count as names where they are a permutation of the
    card's. Raises DataError for an unlabelled row or a label that the card does not have.
    """
    declared = rows.class_names.get(column)
    table = None if declared is None else _declared_classes(declared, labels, rows.origin)
    texts = [_label_text(value) for value in rows.column(column)]
    if table is None:
        table = _table_for(set(texts), labels)
    try:
        return np.fromiter((table[text] for text in texts), dtype=np.int64, count=len(texts))
    except KeyError:
        row = next(row for row, text in enumerate(texts) if text not in table)
        raise DataError(_bad_label(rows.place(row), column, texts[row], labels)) from None


_NAMELESS = {*map(str, range(1000)), "false", "true"}


def _declared_classes(
    declared: Sequence[str], labels: Sequence[str], origin: str
) -> dict[str, int]:
    """Map the numbers of a source's declared classes to the card's by name.

    Names that are numbers or truths say nothing, so that such classes are taken in order. Raises
    DataError where the card lacks a name: an order that is guessed turns labels round.
    """
    index = {label: number for number, label in enumerate(labels)}
    if set(declared) <= index.keys():
        return {str(number): index[name] for number, name in enumerate(declared)}
    if len(declared) == len(labels) and {name.lower() for name in declared} <= _NAMELESS:
        return {str(number): number for number in range(len(labels))}
    raise DataError(
        f"{origin}: it declares the classes {', '.join(declared)}, the task card "
        f"{', '.join(labels)}; make `labels` of the card fit"
    )


def _label_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _table_for(found: set[str], labels: Sequence[str]) -> dict[str, int]:
    by_name = {label: number for number, label in enumerate(labels)}
    by_number = {str(number): number for number in range(len(labels))}
    if any(by_number.get(name, number) != number for name, number in by_name.items()):
        # Names that are other numbers than their places: a split that lacks the class "0" would
        # read by name what another one reads by place.
        by_number = by_name
    by_truth = {"false": 0, "true": 1, "False": 0, "True": 1} if len(labels) == 2 else {}
    for table in (by_name, by_number, by_truth):
        if found <= table.keys():
            return table
    # Something does not fit: choose the reading that explains most, so that the misfit is named.
    return max((by_name, by_number), key=lambda table: len(found & table.keys()))


def _bad_label(place: str, column: str, text: str, labels: Sequence[str]) -> str:
    if text.lower() in _UNLABELLED:
        return f"{place}: column {column!r} " + _NO_LABEL.format(value=text)
    return (
        f"{place}: label {text!r} in column {column!r} is not in the task card "
        f"(labels: {', '.join(labels)}); correct the file or the card"
    )


def scores(rows: Rows, column: str) -> NDArray[np.float64]:
    """Read a column of finite numbers; DataError for anything else, and for a column of -1 only."""
    values = rows.column(column)
    numbers = np.empty(len(values), dtype=np.float64)
    for row, value in enumerate(values):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            if str(value).strip().lower() in _UNLABELLED:
                what = f"column {column!r} " + _NO_LABEL.format(value=value)
            else:
                what = f"{value!r} in column {column!r} is not a finite number"
            raise DataError(f"{rows.place(row)}: {what}")
        numbers[row] = number
    if len(numbers) > 1 and bool((numbers == -1).all()):
        raise DataError(f"{rows.place(0)}: column {column!r} " + _NO_LABEL.format(value="-1"))
    return numbers
