"""The `text:` of a task card: a template with {columns}, one column, or two columns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from string import Formatter

import pandas as pd

from harness.errors import SpecError
from harness.spec import Text


def columns_of(text: Text) -> tuple[str, ...]:
    """Name the columns that a card's text needs, each once, in order of appearance."""
    if not isinstance(text, str):
        return tuple(dict.fromkeys(text))
    if not _is_template(text):
        return (text,)
    return tuple(dict.fromkeys(name for _, name in _parse(text) if name is not None))


def render(text: Text, frame: pd.DataFrame) -> list[list[str]]:
    """Fill a card's text for every row: one list of strings, or two for a sentence pair."""
    if not isinstance(text, str):
        return [frame[name].tolist() for name in text]
    if not _is_template(text):
        return [frame[text].tolist()]
    return [render_template(text, frame)]


def render_template(template: str, frame: pd.DataFrame) -> list[str]:
    """Fill a template for every row of a frame; white space at both ends of the result goes.

    Raises SpecError where it names a column that the frame lacks, or none.
    """
    pieces = _parse(template)
    names = [name for _, name in pieces if name is not None]
    unknown = [name for name in names if name not in frame]
    if unknown or not names:
        what = f"there is no column {unknown[0]!r}" if unknown else "it names no column"
        known = ", ".join(f"{{{name}}}" for name in frame.columns)
        raise SpecError(f"template {template!r}: {what}; write some of {known}")
    parts: list[Iterable[str]] = []
    for literal, name in pieces:
        parts.append(repeat(literal, len(frame)))
        if name is not None:
            parts.append(frame[name].tolist())
    return ["".join(filled).strip() for filled in zip(*parts, strict=True)]


def _is_template(text: str) -> bool:
    return "{" in text or "}" in text


def _parse(template: str) -> list[tuple[str, str | None]]:
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        raise SpecError(f"template {template!r}: {error}") from None
    for _, name, form, conversion in pieces:
        # Attributes, indices and formats would make a card more than text with holes.
        if name is not None and (form or conversion or not name or set(name) & set(".[]")):
            raise SpecError(f"template {template!r}: write column names only, as {{column}}")
    return [(literal, name) for literal, name, _, _ in pieces]
