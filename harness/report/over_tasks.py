"""Checkpoints over all tasks as text, before they are Markdown, LaTeX or a terminal's."""

from __future__ import annotations

import pandas as pd

from harness.report.captions import CHOSEN_BY, lower_text
from harness.report.claims import with_bounds
from harness.report.layout import LaidCell, Layout

DECIMALS = {"rank": 2, "mean": 4, "interquartile_mean": 4, "median": 4}
"""The columns, and so many decimals at most."""


def lay_out_over_tasks(frame: pd.DataFrame) -> Layout:
    """Lay out what `Study.over_tasks` gave: a row a checkpoint, the best mean rank first."""
    first = frame.iloc[0]
    header = ("checkpoint", *(name.replace("_", " ") for name in DECIMALS), "runs")
    rows = [
        tuple(
            LaidCell(text)
            for text in (
                row["checkpoint"],
                *(with_bounds(row, name, most) for name, most in DECIMALS.items()),
                f"{row['n_ok']}/{row['n_planned']}",
            )
        )
        for row in frame.sort_values("rank", kind="stable").to_dict("records")
    ]
    bounds = "without intervals"
    if frame["rank_low"].notna().any():
        bounds = (
            f"with {100 * first['confidence']:g} % intervals: {first['resampled']} are resampled, "
            "tasks and test examples are taken as fixed"
        )
    caption = (
        f"Over {first['tasks']} tasks ({first['task_names']}; {first['metric']}) on the "
        f"{first['split']} split, {bounds}. Rank: of a run among one run of each checkpoint, 1 the "
        "best, mean over tasks. Mean and median: over tasks of the means over seeds. Interquartile "
        "mean: of all runs without the best and the worst quarter. Runs: good ones of planned "
        f"ones. {CHOSEN_BY.get(first['select'], first['select'].capitalize())}. Best rank first; "
        "two neighbours need not differ for real: `harness compare` says which do."
    )
    return Layout(
        header, tuple(rows), " ".join([caption, *lower_text([first["metric"]])]), _notes(frame)
    )


def _notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Name the tasks and the checkpoints that are left out, and say why there is no mean."""
    left_out = frame["left_out"].iloc[0]
    notes = (
        [f"tasks that no checkpoint has whole, left out: {left_out}"] if pd.notna(left_out) else []
    )
    bare = frame[frame["absent"].notna()]
    for is_ranked, rows in bare.groupby(bare["rank"].notna()):
        for reason, of_reason in rows.groupby("absent", sort=False):
            names = ", ".join(of_reason["checkpoint"])
            what = "ranks alone" if is_ranked else f"not ranked: {names}"
            notes.append(f"{what}: {reason}")
    if bare["rank"].isna().any():
        notes.append(
            "all numbers are over the same tasks; to rank these too, keep the tasks that all have "
            "(--where task!=NAME)"
        )
    return tuple(notes)
