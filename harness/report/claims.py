"""Comparisons and sensitivities as text, before they are Markdown, LaTeX or a terminal's."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import pandas as pd

from harness.report.captions import ABSENT, lower_text
from harness.report.layout import BEST_TIE, LaidCell, Layout, number_text
from harness.results import ALL_TASKS, LEVEL, letter_groups

ONE_RECIPE = (
    "This compares these checkpoints. A claim about how they were pretrained needs several "
    "checkpoints of each recipe, pretrained with other seeds; compare `column=value` then."
)
NO_INTERVAL = (
    "no interval, as there is one run a side, or the runs have no scores of the same examples "
    "(then compare over seeds, or leave the task out)"
)
NO_P = "no p, as nothing varies: all seeds of a side have the same score"
LEFT_OUT = "left out, for want of a learning rate with all runs good, or of the metric"
OTHER_TASKS = (
    "the pairs are over different tasks, since not every checkpoint has all of them whole; so a "
    "checkpoint has no one mean, and groups may hide that: keep one task, or leave checkpoints out"
)
CORRECTED_BY = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


def lay_out_comparison(frame: pd.DataFrame, tasks: Collection[str] = ()) -> Layout:
    """Lay out what `Study.compare` gave: a row a task; what is told apart is marked.

    Those of `tasks` that are not compared are named beneath.
    """
    a, b = frame["a"].iloc[0], frame["b"].iloc[0]
    header = (
        "task",
        a,
        b,
        "difference",
        "interval",
        "p",
        f"p ({CORRECTED_BY[frame['correction'].iloc[0]]})",
        "better in",
    )
    rows = []
    for row in frame.to_dict("records"):
        task = row["task"] if row["task"] == ALL_TASKS else f"{row['task']} ({row['metric']})"
        half = (row["high"] - row["low"]) / 2
        digits = _decimals(half)
        texts = (
            task,
            _number(row["mean_a"], digits),
            _number(row["mean_b"], digits),
            _signed(row["difference"], digits),
            _interval(row["low"], row["high"], digits),
            p_text(row["p"]),
            p_text(row["p_corrected"]),
            _share(row),
        )
        is_real = row["p_corrected"] <= LEVEL
        rows.append(
            tuple(LaidCell(text, is_real and place == 3) for place, text in enumerate(texts))
        )
    resampled, confidence = frame["resampled"].iloc[0], frame["confidence"].iloc[0]
    units = "checkpoints" if resampled == "checkpoints" else "runs"
    caption = (
        f"{a} minus {b} on the {frame['split'].iloc[0]} split, with {100 * confidence:g} % "
        f"intervals over {resampled}. p: two-sided, of no difference; corrected over the single "
        f"tasks shown. Bold: told apart at {100 * LEVEL:g} % after correction. Better in: share of "
        f"pairs of {units} in which {a} is the better one, with its interval over {units}."
    )
    for lower in lower_text(frame["metric"]):
        caption += f" {lower} There {a} is better where the difference is below 0."
    notes = [] if resampled == "checkpoints" else [ONE_RECIPE]
    notes += _left_out(set(frame["task"]), tasks)
    bare = frame.loc[frame["low"].isna() & (frame["task"] != ALL_TASKS), "task"]
    if not bare.empty:
        notes.append(f"{NO_INTERVAL}: {', '.join(bare)}")
    still = frame.loc[frame["low"].notna() & frame["p"].isna(), "task"]
    if not still.empty:
        notes.append(f"{NO_P}: {', '.join(still)}")
    return Layout(header, tuple(rows), caption, tuple(notes))


def lay_out_matrix(pairs: pd.DataFrame, checkpoints: Collection[str] = ()) -> Layout:
    """Lay out all pairs of one task (or of all tasks together): row minus column, and groups.

    Those of `checkpoints` that are not compared are named beneath. Where pairs are over different
    tasks there is no one mean.
    """
    groups = letter_groups(pairs)
    names = groups["checkpoint"].tolist()
    found = {(row["a"], row["b"]): row for row in pairs.to_dict("records")}
    has_one_mean = _has_one_mean(pairs)
    rows = []
    for name, mean, letters in groups.itertuples(index=False, name=None):
        text = number_text(mean, math.nan) if has_one_mean else ABSENT
        cells = [LaidCell(name), LaidCell(text), LaidCell(letters)]
        for other in names:
            if other == name:
                cells.append(LaidCell(""))
                continue
            row, sign = (found[name, other], 1) if (name, other) in found else (None, -1)
            row = row or found[other, name]
            # Adding 0 turns -0 into 0.
            text = _signed(
                sign * row["difference"] + 0.0, _decimals((row["high"] - row["low"]) / 2)
            )
            cells.append(LaidCell(text, bool(row["p_corrected"] <= LEVEL)))
        rows.append(tuple(cells))
    task, by = pairs["task"].iloc[0], CORRECTED_BY[pairs["correction"].iloc[0]]
    family = "all pairs" if task == ALL_TASKS else "all pairs and tasks"
    caption = (
        f"{task}: row minus column, over {pairs['resampled'].iloc[0]}. Bold: told apart at "
        f"{100 * LEVEL:g} % after correction by {by} over {family}. Best first. Checkpoints that "
        "share a letter are not told apart."
    )
    caption = " ".join([caption, *lower_text(pairs["metric"])])
    notes = _left_out(names, checkpoints) + ([] if has_one_mean else [OTHER_TASKS])
    return Layout(("checkpoint", "mean", "groups", *names), tuple(rows), caption, tuple(notes))


def lay_out_sensitivity(frame: pd.DataFrame) -> Layout:
    """Lay out what `Study.sensitivity` gave: a row a checkpoint and task."""
    budgets = [name for name in frame.columns if name.startswith("best_of_")]
    header = (
        "checkpoint", "task", "best", "range", "deviation", "area", "regret", "diverged",
        "collapsed", "runs", *(name.replace("best_of_", "best of ") for name in budgets),
    )  # fmt: skip
    rows = [
        tuple(
            LaidCell(text)
            for text in (
                row["checkpoint"],
                row["task"] if row["task"] == ALL_TASKS else f"{row['task']} ({row['metric']})",
                _number(row["best"], 3),
                with_bounds(row, "range"),
                with_bounds(row, "deviation"),
                with_bounds(row, "area"),
                _number(row["regret"], 3),
                _percent(row["diverged"]),
                _percent(row["collapsed"]),
                f"{row['n_ok']}/{row['n_planned']}",
                *(_number(row[name], 3) for name in budgets),
            )
        )
        for row in frame.to_dict("records")
    ]
    caption = (
        "Means over the good seeds at each learning rate: the best of them, their range and "
        "standard deviation across rates, and their mean over log rate (area), with 95 % bounds "
        "over seeds. "
        "Regret: what a task loses by the one rate that is best for all tasks, among rates whose "
        "runs are all good. Runs: good ones of planned ones. Best of m: expected score of the best "
        "on validation of m of the good runs drawn at random."
    )
    caption = " ".join([caption, *lower_text(frame["metric"])])
    return Layout(header, tuple(rows), caption, (), names=2)


def _left_out(shown: Collection[str], planned: Collection[str]) -> list[str]:
    left = [name for name in planned if name not in shown]
    return [f"{LEFT_OUT}: {', '.join(left)}"] if left else []


def _has_one_mean(pairs: pd.DataFrame) -> bool:
    """Say whether the mean of a checkpoint is the same in all of its pairs."""
    sides = [pairs[[side, f"mean_{side}"]].set_axis(["name", "mean"], axis=1) for side in "ab"]
    by_name = pd.concat(sides).groupby("name")["mean"]
    return bool(((by_name.max() - by_name.min()) < BEST_TIE).all())


def p_text(p: float) -> str:
    """Write a p: three decimals, `<0.001` below, a dash where there is none."""
    if math.isnan(p):
        return ABSENT
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _decimals(half_width: float) -> int:
    """Count the decimals that a half width supports, as `number_text` does."""
    if math.isnan(half_width):
        return 3
    _, _, tail = number_text(0.0, half_width).partition(" ± ")
    return len(tail.partition(".")[2])


def _number(value: float, decimals: int) -> str:
    return ABSENT if math.isnan(value) else f"{value:.{decimals}f}"


def _signed(value: float, decimals: int) -> str:
    return ABSENT if math.isnan(value) else f"{value:+.{decimals}f}"


def _interval(low: float, high: float, decimals: int) -> str:
    return ABSENT if math.isnan(low) else f"{low:+.{decimals}f} to {high:+.{decimals}f}"


def _share(row: Mapping[Hashable, Any]) -> str:
    if math.isnan(row["improvement"]):
        return ABSENT
    ends = (row["improvement_low"], row["improvement_high"])
    return f"{_percent(row['improvement'])} ({_percent(ends[0])} to {_percent(ends[1])})"


def with_bounds(row: Mapping[Hashable, Any], name: str, most: int = 4) -> str:
    """Write a number with its bounds `NAME_low` and `NAME_high`, in the decimals they support."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if math.isnan(low) or math.isnan(high):
        return _number(row[name], min(3, most))
    digits = min(_decimals((high - low) / 2), most)
    return f"{row[name]:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _percent(value: float) -> str:
    return ABSENT if math.isnan(value) else f"{100 * value:.0f} %"
