"""Is one checkpoint better than another? Rows of pairs on tasks, with corrected p."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.errors import StudyError
from harness.results.cells import Cell, Cells, refuse
from harness.results.choosing import BY_VALIDATION, Picked, pick
from harness.results.columns import STEP, STEP_PARTS, is_value, unknown_column
from harness.results.direction import lower_is_better, name_together
from harness.results.examples import Drawn, Draws, ExampleReader
from harness.results.frames import typed
from harness.results.pairs import Floats, Pair, average_pairs, improvement, numbers
from harness.stats import benjamini_hochberg, holm, over_seeds, subtract

CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}
ALL_TASKS = "(all tasks)"
RESAMPLED = {"seeds": "seeds", "both": "seeds and examples"}

HEAD = {"a": "str", "b": "str", "task": "str", "kind": "str", "metric": "str", "split": "str"}
NUMBERS = ("mean_a", "mean_b", "difference", "low", "high", "p", "p_corrected")
CHECKS = (
    "p_permutation", "p_mcnemar", "improvement", "improvement_low", "improvement_high",
)  # fmt: skip
MEANT = {"resampled": "str", "confidence": "float64", "correction": "str"}
PAIR_TYPES = HEAD | dict.fromkeys(NUMBERS, "float64") | MEANT
COMPARE_TYPES = (
    HEAD | dict.fromkeys((*NUMBERS, *CHECKS), "float64") | {"n_a": "int64", "n_b": "int64"} | MEANT
)

Row = dict[str, Any]
Picks = Mapping[tuple[str, str], Picked]


@dataclass(frozen=True, eq=False)
class Comparer:
    """Compares checkpoints, or groups of them, on the runs that a choice of rates reports.

    Raises StudyError for an unknown `interval` or `correction`.
    """

    cells: Cells
    reader: ExampleReader
    metric: str | None = None
    split: str = "test"
    select: str | float = BY_VALIDATION
    interval: str = "both"
    correction: str = "holm"
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the words."""
        for word, value, known in (
            ("interval", self.interval, RESAMPLED),
            ("correction", self.correction, CORRECTIONS),
        ):
            if value not in known:
                raise StudyError(f"{word}: {value!r} is none of {', '.join(known)}")

    def compare(self, a: str, b: str) -> pd.DataFrame:
        """Compare two sides on every task that both have whole, then on all of these together.

        Not together where lower is better on some of them only: their mean has no better end.
        """
        sides = self._side(a), self._side(b)
        if shared := sorted(set(sides[0]) & set(sides[1])):
            raise StudyError(f"{shared[0]!r} stands on both sides")
        if {*sides[0], *sides[1]} != {a, b}:
            cells = list(self.cells)
            self.cells.refuse_unlike(*([c for c in cells if c.checkpoint in s] for s in sides))
        if min(map(len, sides)) > 1:
            for side in sides:
                _refuse_steps_of_one([c for c in self.cells if c.checkpoint in side])
        picks = self._picks({*sides[0], *sides[1]})
        pairs = [
            Pair(
                tuple(picks[checkpoint, task] for checkpoint in sides[0]),
                tuple(picks[checkpoint, task] for checkpoint in sides[1]),
            )
            for task in self.cells.tasks
            if all((checkpoint, task) in picks for checkpoint in (*sides[0], *sides[1]))
        ]
        if not pairs:
            raise StudyError(f"{a} and {b} have no task with all runs good on both sides")
        drawn = _in_common(pairs, self._draw(pairs))
        rows = self._corrected([self._row(pair, drawn) for pair in pairs])
        if len(rows) > 1 and _agree(pairs):
            rows.append(self._all_tasks(pairs, drawn))
        return self._framed([{"a": a, "b": b} | row for row in rows], COMPARE_TYPES)

    def compare_all(self) -> pd.DataFrame:
        """Compare every pair of checkpoints on every task, and on all tasks that both have whole.

        The corrections are over all pairs and tasks; over all pairs, for all tasks together. No row
        has all tasks where lower is better on some of them only.
        """
        picks = self._picks()
        by_names = {
            (a, b): [
                Pair((picks[a, task],), (picks[b, task],))
                for task in self.cells.tasks
                if (a, task) in picks and (b, task) in picks
            ]
            for a, b in itertools.combinations(self.cells.checkpoints, 2)
        }
        every_pair = list(itertools.chain.from_iterable(by_names.values()))
        draws = self._draw(every_pair)
        single: list[Row] = []
        together: list[Row] = []
        for (a, b), pairs in by_names.items():
            drawn = _in_common(pairs, draws)
            estimates = [pair.estimate(drawn) for pair in pairs]
            names = {"a": a, "b": b, "resampled": RESAMPLED[self.interval]}
            single += [
                names | pair.head() | numbers(estimate, self.confidence)
                for pair, estimate in zip(pairs, estimates, strict=True)
            ]
            if len(pairs) > 1 and _agree(every_pair):
                found = numbers(average_pairs(pairs, drawn), self.confidence)
                together.append(names | self._means(pairs) | found)
        rows = [*self._corrected(single), *self._corrected(together)]
        return self._framed(rows, PAIR_TYPES)

    def with_best(self) -> pd.DataFrame:
        """Compare the best checkpoint of each task with all others: rows as of `compare_all`.

        `a` is the best. Tasks with an absent cell are left out. The corrections are over all rows,
        as all pairs of a task: the best is picked from the same data, so that each of C checkpoints
        could have been it. Each p counts C / 2 times, as there are C (C - 1) / 2 pairs and C - 1
        rows; with m rows left Holm's step is m C / 2, and so at least the m (m + 1) / 2 pairs of
        the best and those that are not told apart from it yet.
        """
        picks = self._picks()
        planned = Counter(cell.task.name for cell in self.cells)
        pairs = []
        for task in self.cells.tasks:
            of_task = [picked for (_, name), picked in picks.items() if name == task]
            if len(of_task) == planned[task]:
                best = max(of_task, key=lambda picked: float(picked.gains.mean()))
                pairs += [Pair((best,), (other,)) for other in of_task if other is not best]
        draws = self._draw(pairs)
        rows = [
            {"a": pair.a[0].cell.checkpoint, "b": pair.b[0].cell.checkpoint}
            | {"resampled": RESAMPLED[self.interval], **pair.head()}
            | numbers(pair.estimate(_in_common([pair], draws)), self.confidence)
            for pair in pairs
        ]
        times = [planned[pair.task] / 2 for pair in pairs]
        return self._framed(self._corrected(rows, times), PAIR_TYPES)

    def _side(self, text: str) -> list[str]:
        """Find the checkpoints of a side: a name, or all that have `column=value`."""
        if text in self.cells.checkpoints:
            return [text]
        column, sign, value = text.partition("=")
        if not sign:
            refuse("checkpoint", text, self.cells.checkpoints)
        known = {name for cell in self.cells for name in cell.columns}
        if column not in known:
            raise StudyError(unknown_column(column, known))
        found = [c.checkpoint for c in self.cells if is_value(c.columns.get(column), value)]
        if not found:
            seen = sorted({str(cell.columns.get(column)) for cell in self.cells})
            raise StudyError(f"no checkpoint has {text}; there is {', '.join(seen)}")
        return list(dict.fromkeys(found))

    def _picks(self, checkpoints: Collection[str] | None = None) -> Picks:
        chosen = pick(
            self.cells,
            metric=self.metric,
            split=self.split,
            select=self.select,
            checkpoints=checkpoints,
        )
        return {(p.cell.checkpoint, p.cell.task.name): p for p in chosen if p.is_whole}

    def _draw(self, pairs: Sequence[Pair]) -> Draws | None:
        """Draw the examples of each cell, the same for all of a task that are of the same examples.

        None for intervals over seeds alone. Raises StudyError where no pair has examples in common.
        """
        if self.interval == "seeds":
            return None
        cells = {cell: None for pair in pairs if pair.is_single for cell in (*pair.a, *pair.b)}
        draws = self.reader.draw(list(cells), seed=self.seed)
        if draws.reasons and not any(any(_in_common([pair], draws).values()) for pair in pairs):
            raise StudyError(
                "\n".join(draws.reasons) + "\nWithout scores of the same examples, compare over "
                "seeds alone: interval 'seeds'"
            )
        return draws

    def _framed(self, rows: Sequence[Row], types: Mapping[str, str]) -> pd.DataFrame:
        """Make a frame that says of itself what its intervals and corrected p are."""
        frame = pd.DataFrame(rows, columns=list(types))
        said = frame.assign(confidence=self.confidence, correction=self.correction)
        return typed(said, types)

    def _corrected(self, rows: list[Row], times: Sequence[float] | float = 1.0) -> list[Row]:
        """Add the corrected p to rows that are one family; each counts so many `times`."""
        given = np.array([row["p"] for row in rows], dtype=float)
        p_values = CORRECTIONS[self.correction](np.minimum(given * times, 1.0))
        return [row | {"p_corrected": p} for row, p in zip(rows, p_values.tolist(), strict=True)]

    def _row(self, pair: Pair, drawn: Mapping[str, Drawn | None]) -> Row:
        a, b = pair.gains
        return (
            pair.head()
            | numbers(pair.estimate(drawn), self.confidence)
            | pair.counts
            | {"resampled": self._resampled(pair)}
            | self._improvement(pair, a[:, None], b[:, None], pair.task)
            | pair.by_example(drawn, self.seed)
        )

    def _all_tasks(self, pairs: Sequence[Pair], drawn: Mapping[str, Drawn | None]) -> Row:
        """Average over tasks; of recipes, first each checkpoint, then over checkpoints."""
        estimate = average_pairs(pairs, drawn)
        row = self._means(pairs) | {"resampled": self._resampled(pairs[0])}
        row |= {side: sum(pair.counts[side] for pair in pairs) for side in ("n_a", "n_b")}
        sides = [list(side) for side in zip(*(pair.units for pair in pairs), strict=True)]
        if all(len({units.size for units in side}) == 1 for side in sides):
            a, b = (np.stack(side, axis=1) for side in sides)
            if pairs[0].is_of_recipes:
                estimate = subtract(over_seeds(a.mean(axis=1)), over_seeds(b.mean(axis=1)))
            gains = zip(*(pair.gains for pair in pairs), strict=True)
            a, b = (np.stack(side, axis=1) for side in gains)
            row |= self._improvement(pairs[0], a, b, ALL_TASKS)
        row |= numbers(estimate, self.confidence)
        # One question of its own: a family of one.
        return row | {"p_corrected": row["p"]}

    def _improvement(self, pair: Pair, a_KT: Floats, b_KT: Floats, name: str) -> Row:
        """Give how often a is better; {} for several checkpoints against the runs of one."""
        if not (pair.is_single or pair.is_of_recipes):
            return {}
        return improvement(
            a_KT,
            b_KT,
            name=name,
            confidence=self.confidence,
            seed=self.seed,
            of_recipes=pair.is_of_recipes,
        )

    def _means(self, pairs: Iterable[Pair]) -> Row:
        a, b = (float(np.mean(side)) for side in zip(*(pair.means for pair in pairs), strict=True))
        metric = name_together(pair.metric for pair in pairs)
        head = {"task": ALL_TASKS, "metric": metric, "split": self.split}
        return head | {"mean_a": a, "mean_b": b}

    def _resampled(self, pair: Pair) -> str:
        if pair.is_of_recipes:
            return "checkpoints"
        return RESAMPLED[self.interval] if pair.is_single else "seeds, with these checkpoints"


def _agree(pairs: Iterable[Pair]) -> bool:
    """Say whether the metrics of some pairs are all better when larger, or all when lower."""
    return lower_is_better(name_together(pair.metric for pair in pairs)) is not None


def _refuse_steps_of_one(side: Iterable[Cell]) -> None:
    """Refuse steps of one pretraining run as checkpoints of a recipe: they do not vary freely."""
    seen: dict[tuple[tuple[str, str], ...], Cell] = {}
    for cell in side:
        rest = {n: str(v) for n, v in cell.columns.items() if n not in {STEP, STEP_PARTS[0]}}
        other = seen.setdefault(tuple(sorted(rest.items())), cell)
        if other.columns.get(STEP) != cell.columns.get(STEP):
            raise StudyError(
                f"{other.checkpoint!r} and {cell.checkpoint!r} are steps of one pretraining run, "
                "not two checkpoints of a recipe; keep one step (--where step=VALUE), or give a "
                "checkpoint column that tells pretraining runs apart"
            )


def _in_common(pairs: Iterable[Pair], draws: Draws | None) -> dict[str, Drawn | None]:
    """Give the draw of each task that both sides have, None where they have none in common."""
    found: dict[str, Drawn | None] = {}
    for pair in pairs:
        if draws is not None and pair.is_single:
            a, b = (draws.by_cell.get(side[0]) for side in (pair.a, pair.b))
            found[pair.task] = a if a is b else None
    return found
