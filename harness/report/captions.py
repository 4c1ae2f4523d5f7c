"""What a table says beneath it: which interval, how rates were chosen, what is missing and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from harness.results import (
    BY_VALIDATION,
    INCOMPLETE_TOO,
    NOT_RUN,
    PER_SEED,
    Study,
    lower_is_better,
    lower_ones,
    name_together,
    same_select,
)

ABSENT = "—"
EDGE = "†"
COLLAPSED = "‡"
TIED = "°"
NOTES_SHOWN = 20
CHOSEN_BY = {
    BY_VALIDATION: "Learning rate of each cell: best mean validation score of the task's main "
    "metric among rates whose runs are all good, the smaller rate of equals",
    INCOMPLETE_TOO: "Learning rate of each cell: best mean validation score of the task's main "
    "metric, over the good runs where some are missing; the smaller rate of equals",
    PER_SEED: "Learning rate of each run: the best validation score of its seed by itself, among "
    "rates whose runs are all good (or among all, where incomplete ones were asked for)",
}
BEST_END = {False: "largest", True: "smallest", None: "largest (where lower is better, smallest)"}
SAYS = {
    "Student t over seeds": "what other seeds would give, on the same test examples",
    "seeds and examples": "what other seeds and other test examples would give",
    "seeds, examples and the choice of the rate": "what other seeds and other examples would give, "
    "with the rate chosen anew",
}


def caption_of(table: pd.DataFrame, *, has_ties: bool = False) -> str:
    """Say what a cell shows: which interval, what varies in it, how the rate was chosen."""
    if table.empty:
        return "No cells."
    split = table["split"].iloc[0]
    parts = [
        f"Mean on the {split} split {_interval_text(table)}; in brackets good runs of planned "
    ]
    parts[0] += "ones."
    parts += lower_text(table["metric"])
    if "checkpoints" in table:
        parts.append("Means over the tasks and checkpoints of a cell take these as fixed.")
    if "select" in table:
        select = same_select(table["select"])
        parts += [
            f"{CHOSEN_BY.get(select, select.capitalize())}.",
            f"Best: {BEST_END[lower_is_better(name_together(table['metric']))]} mean of a column "
            "whose cells all have the same number of runs; it need not differ for real.",
        ]
        if has_ties:
            parts.append(
                f"{TIED} not told apart from the best of its column (two-sided 5 %, by Holm, "
                "corrected as all pairs of the column, since the best is picked from the same "
                "data, over all columns shown)."
            )
        if "at_edge" in table and table["at_edge"].fillna(False).any():
            parts.append(f"{EDGE} the chosen rate is the smallest or largest of the grid.")
    else:
        parts.append("Every point, without a choice; means are over the good runs.")
    if table["collapsed"].fillna(0).any():
        parts.append(f"{COLLAPSED} some of these runs say the same of every example.")
    return " ".join(parts)


def lower_text(metrics: Iterable[str]) -> list[str]:
    """Say in one sentence for which of some metrics lower is better; [] where for none."""
    lower = lower_ones(metrics)
    return [f"Lower is better: {', '.join(lower)}."] if lower else []


def interval_of(table: pd.DataFrame) -> str | None:
    """Say which interval the rows of a table have and what varies in it; None where none has."""
    found = [text for text in table["interval"].unique() if not text.startswith("none")]
    if not found or table["half_width"].isna().all():
        return None
    kind, _, _ = found[0].rpartition(", ")
    return f"{found[0]}: {SAYS[kind]}"


def _interval_text(table: pd.DataFrame) -> str:
    said = interval_of(table)
    return f"± half width of its interval ({said})" if said else "without an interval"


def notes_of(study: Study, table: pd.DataFrame, unranked: list[str]) -> Iterator[str]:
    """Say what was skipped, not ranked, broken, without a score or not run yet."""
    for skipped in study.skipped:
        yield f"skipped: {skipped.name}: {skipped.reason}"
    if unranked:
        yield f"not ranked, as means are absent or numbers of runs differ: {', '.join(unranked)}"
    for metric in table["metric"].unique():
        if lower_is_better(metric) is None:
            yield f"not ranked, as lower is better for some of them only: means over {metric}"
    yield from _without_interval(table)
    missing = study.missing
    if "task" in table:
        missing = missing[missing["task"].isin(set(table["task"]))]
    is_waiting = missing["reason"] == NOT_RUN
    bare = _scoreless(study, table) if "checkpoint" in table and "task" in table else []
    notes = [*_broken(missing[~is_waiting]), *bare]
    yield from notes[:NOTES_SHOWN]
    if len(notes) > NOTES_SHOWN:
        yield f"and {len(notes) - NOTES_SHOWN} more such notes; `Study.missing` has every run"
    if is_waiting.any():
        yield f"{_runs(int(is_waiting.sum()))} not run yet"


def _without_interval(table: pd.DataFrame) -> Iterator[str]:
    reasons = table.loc[table["interval"].str.startswith("none: "), "interval"].unique()
    for reason in reasons[:NOTES_SHOWN]:
        yield f"no interval: {reason.removeprefix('none: ')}"
    if len(reasons) > NOTES_SHOWN:
        yield f"and {len(reasons) - NOTES_SHOWN} more such notes; the column `interval` has them"


def _broken(missing: pd.DataFrame) -> Iterator[str]:
    # The step at which a run diverged differs from run to run; one line tells them all.
    reasons = missing["reason"].str.replace(r"^diverged at step \d+$", "diverged", regex=True)
    groups = missing.groupby(["checkpoint", "task", reasons], sort=False)
    for (checkpoint, task, reason), group in groups:
        rates = ", ".join(f"{rate:g}" for rate in sorted(set(group["learning_rate"])))
        yield f"{checkpoint}, {task}: {_runs(len(group))} {reason} (learning rate {rates})"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _scoreless(study: Study, table: pd.DataFrame) -> list[str]:
    """Say which good runs lack the shown score, as of a constant prediction, or what chooses."""
    records = study.records
    good = records[(records["status"] == "ok") & records["planned"]]
    notes = []
    for (task, metric, split), cells in table.groupby(["task", "metric", "split"], sort=False):
        of_task = good[good["task"] == task]
        if of_task.empty:
            continue
        by = of_task["main_metric"].iloc[0]
        bare = _without(study, of_task, str(metric), str(split))
        blind = _without(study, of_task, by, "validation") - bare
        absent = set(cells.loc[cells["mean"].isna(), "checkpoint"]) if "select" in table else set()
        for checkpoint in cells["checkpoint"].unique():
            own = set(of_task.loc[of_task["checkpoint"] == checkpoint, "run_id"])
            if count := len(own & bare):
                notes.append(f"{checkpoint}, {task}: {_runs(count)} without a {split} {metric}")
            if checkpoint in absent and (count := len(own & blind)):
                notes.append(
                    f"{checkpoint}, {task}: {_runs(count)} without a validation {by} to choose the "
                    "learning rate by"
                )
    return notes


def _without(study: Study, runs: pd.DataFrame, metric: str, split: str) -> set[str]:
    """Give the ids of the runs that have no such score."""
    scores = study.scores
    has_it = scores[(scores["metric"] == metric) & (scores["split"] == split)]
    return set(runs["run_id"]) - set(has_it["run_id"])
