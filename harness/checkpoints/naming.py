"""What folders are called, in which order they stand, and what their names tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from harness.errors import InputError
from harness.names import parse_name

Columns = dict[str, str | int | float | bool]
Parts = tuple[str, ...]

_SCALES = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_COUNT = r"\d+(?:\.\d+)?[kmb](?![a-z\d])|\d+"
_NUMBER = re.compile(_COUNT, re.IGNORECASE)
_STEP = re.compile(
    rf"(?<![a-z])(?:global[-_]?step|steps?|checkpoint|ckpt|iter(?:ation)?)[-_=]?({_COUNT})"
    r"(?![a-z]|\.?\d)",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?<![a-z])epochs?[-_=]?(\d+)", re.IGNORECASE)
_NOTHING = re.compile(r"[\d\W_]*")
_COUNTED = re.compile(r"step|token", re.IGNORECASE)
_PLAIN = re.compile(r"-?\d+(?P<fraction>\.\d+)?(?P<exponent>e[-+]?\d+)?", re.IGNORECASE)


def natural_order(parts: Parts) -> list[list[tuple[str, float, str]]]:
    """Make the sort key: step9 before step10, step_500 before step_42k, 610m before 1b."""
    return [_pieces(part) for part in parts]


def _pieces(name: str) -> list[tuple[str, float, str]]:
    pieces, begin = [], 0
    for found in _NUMBER.finditer(name):
        pieces.append((name[begin : found.start()].casefold(), to_number(found[0]), found[0]))
        begin = found.end()
    return [*pieces, (name[begin:].casefold(), -1.0, name[begin:])]


def to_number(text: str) -> int | float:
    """Read a count as people write it: `42k` is 42000, `1.5m` 1500000."""
    scale = _SCALES.get(text[-1].lower())
    if scale is None:
        return float(text) if "." in text else int(text)
    return round(float(text[:-1]) * scale)


def says_only_a_step(name: str) -> bool:
    """Say whether a name tells when a checkpoint was saved, and not what of."""
    return _NOTHING.fullmatch(_EPOCH.sub("", _STEP.sub("", name))) is not None


def short_names(paths: Sequence[Parts]) -> list[str]:
    """Name each path by its last part; by more of its last parts where that does not tell it apart.

    Where such folders have different parents, a last part that says only a step is not enough.

    Raises:
        InputError: two paths are equal.
    """
    are_steps = [says_only_a_step(path[-1]) for path in paths]
    parents = {path[:-1] for path, is_step in zip(paths, are_steps, strict=True) if is_step}
    lengths = [1 + (is_step and len(parents) > 1) for is_step in are_steps]
    while True:
        names = ["--".join(path[-n:]) for path, n in zip(paths, lengths, strict=True)]
        times = Counter(names)
        longer = [
            min(n + (times[name] > 1), len(path))
            for path, n, name in zip(paths, lengths, names, strict=True)
        ]
        if longer == lengths:
            break
        lengths = longer
    repeated = [name for name, count in times.items() if count > 1]
    if repeated:
        raise InputError(f"two checkpoints would be called {repeated[0]!r}; rename one")
    return names


def name_columns(told: Parts, pattern: re.Pattern[str] | None = None) -> Columns:
    """Read columns from the names that lead to a checkpoint, outermost first.

    Three sources, the later ones winning: the grammar of `harness.names`, a step or an epoch
    (`checkpoint-1000`, `step_42k`, `epoch=3-step=500`), and the named groups of a pattern that is
    searched in the names joined by "/". `step` is how far pretraining had gone.
    """
    columns: Columns = {}
    for name in told:
        columns |= parse_name(name)
    reached = columns.get("intermediate_step", columns.get("total_steps"))
    if reached is not None:
        columns["step"] = reached
    text = "/".join(told)
    for name, expression in (("epoch", _EPOCH), ("step", _STEP)):
        found = expression.findall(text)
        if found:
            columns[name] = to_number(found[-1])
    return columns | pattern_columns(text, pattern)


def pattern_columns(text: str, pattern: re.Pattern[str] | None) -> Columns:
    """Read the named groups of a pattern; numbers become numbers, `42k` in a count of steps too."""
    found = pattern.search(text) if pattern else None
    if found is None:
        return {}
    return {name: _value(name, said) for name, said in found.groupdict().items() if said}


def read_pattern(text: str | None) -> re.Pattern[str] | None:
    """Compile a name pattern.

    Raises:
        InputError: it is no regular expression, or has no named group.
    """
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise InputError(f"name pattern {text!r}: is no regular expression: {error}") from None
    if not pattern.groupindex:
        raise InputError(
            f"name pattern {text!r}: names no column; write groups such as (?P<size>\\d+m)"
        )
    return pattern


def _value(name: str, said: str) -> str | int | float:
    plain = _PLAIN.fullmatch(said)
    if plain is not None:
        return float(said) if plain["fraction"] or plain["exponent"] else int(said)
    return to_number(said) if _COUNTED.search(name) and _NUMBER.fullmatch(said) else said
