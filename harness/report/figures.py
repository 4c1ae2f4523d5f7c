"""Frames of a study as Altair charts: the numbers that they hold, nothing computed anew.

Every function takes a frame and gives a chart, with a panel for each task or kind. Each says what
its intervals are; a cell without a mean is a gap. `chart.save("figure.svg")` (or html, png, pdf)
writes it. Needs Altair, the extra `figures` of the package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import pandas as pd

from harness.errors import HarnessError, InputError
from harness.report.captions import ABSENT, interval_of, lower_text
from harness.report.layout import axes_of, name_text
from harness.results import ALL_TASKS, LEVEL, lower_is_better, same_select

try:
    import altair as alt
except ImportError as error:
    raise HarnessError(
        "figures need Altair, which is not installed: pip install altair vl-convert-python"
    ) from error

TICKS = 12
"""Up to so many numbers of a horizontal axis are its ticks."""
MAGNITUDES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
MAGNITUDE = re.compile(r"(\d+(?:\.\d+)?)([kmbt]?)", re.IGNORECASE)
BREAK: Literal["break-paths-filter-domains"] = "break-paths-filter-domains"
"""A line ends before what is absent and begins after it."""
RUNS = ("all good", "some missing")
TOLD = ("told apart", "not told apart")
TABLE = ("metric", "split", "mean", "low", "high", "half_width", "n_ok", "n_planned", "interval")
COMPARISON = (
    "a", "b", "task", "metric", "split", "difference", "low", "high", "p_corrected", "resampled",
    "confidence",
)  # fmt: skip
PROFILE = (
    "checkpoint", "metric", "split", "threshold", "share", "low", "high", "tasks", "task_names",
    "absent", "select", "resampled", "confidence",
)  # fmt: skip


def draw_curves(frame: pd.DataFrame, over: str, series: str | None = None) -> alt.FacetChart:
    """Draw scores over a column, a line with its band for each series.

    `frame` is what `Study.rates` gave (over `learning_rate`), `Study.dynamics` (over `step`), or
    `Study.table(by=...)` (over any column of `by`). `series` is a column; without it the series of
    `dynamics`, the other columns of `by`, or the checkpoints. Numbers that span a factor of ten
    stand on a logarithmic axis, as learning rates do; sizes such as `610m` in their order.

    Raises InputError for another frame, and where a series has two rows at one place.
    """
    columns = (*TABLE, over, *([series] if series else []))
    frame = _checked(frame, columns, "rates, dynamics or table")
    if over == "learning_rate" and "select" in frame:
        raise InputError(
            "the learning rates of this frame were chosen, one for each cell; draw "
            "study.rates(), or study.table(by=['learning_rate', ...])"
        )
    title, names = _series(frame, over, series)
    rows = _rows(frame).assign(series=names, x=frame[over].astype(object))
    rows = rows[rows["x"].notna()]
    if rows.empty:
        raise InputError(f"no row of this frame has a value of {over!r}")
    _refuse_doubles(rows, ["panel", "series", "x"], over, title)
    rows["x"], x = _place(rows["x"], over)
    color = _color(title, rows["series"])
    encoded = alt.Chart().encode(x=x, color=color)
    ends = {"y": alt.Y("low:Q"), "y2": "high:Q"}
    marks = [
        encoded.mark_area(opacity=0.15, invalid=BREAK).encode(**ends),
        encoded.mark_rule(opacity=0.5).encode(**ends),
        encoded.mark_line(invalid=BREAK).encode(y=_score("y", frame)),
        encoded.mark_point(filled=True, size=45, opacity=1).encode(
            y=_score("y", frame), shape=_shape(rows), tooltip=_tooltip(over, title)
        ),
    ]
    layers = alt.LayerChart(data=_values(rows), layer=marks).properties(width=230, height=180)
    left_out = len(frame) - len(rows)
    notes = [f"{left_out} without {over}, not drawn."] if left_out else []
    said = _title(frame, f"Scores over {over}", "Bands and bars", notes)
    return _facet(layers, rows, said, alt.ScaleResolveMap(y="independent"))


def draw_cells(frame: pd.DataFrame, series: str | None = None) -> alt.FacetChart:
    """Draw the cells of a table as points with their intervals, in the order of its rows.

    `frame` is what `Study.table` or `Study.rates` gave; `series` is a column that gives colours.
    A cell with missing runs shows how many there are. Raises InputError for another frame.
    """
    frame = _checked(frame, (*TABLE, *([series] if series else [])), "table or rates")
    names, _ = axes_of(frame)
    texts = frame[names].map(name_text).agg(" ".join, axis=1)
    rows = _rows(frame).assign(x=texts)
    rows["series"] = frame[series].map(name_text) if series else ""
    _refuse_doubles(rows, ["panel", "x"], " and ".join(names), None)
    y = alt.Y("x:N", title=None, sort=list(rows["x"].unique()), axis=alt.Axis(labelLimit=0))
    encoded = alt.Chart().encode(y=y)
    if series:
        encoded = encoded.encode(color=_color(series, rows["series"]))
    marks = [
        encoded.mark_rule().encode(x=alt.X("low:Q"), x2="high:Q"),
        encoded.mark_point(filled=True, size=45, opacity=1).encode(
            x=_score("x", frame), tooltip=_tooltip(" and ".join(names), series)
        ),
        # At the left edge, where no mean can hide it.
        alt.Chart().mark_text(align="left", fontSize=9).encode(y=y, x=alt.value(3), text="gap:N"),
    ]
    layers = alt.LayerChart(data=_values(rows), layer=marks).properties(
        width=230, height=alt.Step(16)
    )
    said = _title(frame, "Scores", "Bars", [])
    return _facet(layers, rows, said, alt.ScaleResolveMap(x="independent"))


def draw_comparison(frame: pd.DataFrame) -> alt.LayerChart:
    """Draw what `Study.compare` gave: a difference with its interval for each task.

    Coloured ones are told apart after correction. Raises InputError for another frame, and for one
    with several pairs.
    """
    frame = _checked(frame, COMPARISON, "compare")
    pairs = frame[["a", "b"]].drop_duplicates()
    if len(pairs) > 1:
        raise InputError(
            f"this frame has {len(pairs)} pairs; keep the rows of one: "
            "frame[(frame['a'] == ...) & (frame['b'] == ...)]"
        )
    first = frame.iloc[0]
    rows = frame[["difference", "low", "high", "p_corrected"]].assign(
        x=_with_metric(frame["task"], frame["metric"].where(frame["task"] != ALL_TASKS)),
        told=[TOLD[0] if p <= LEVEL else TOLD[1] for p in frame["p_corrected"]],
    )
    y = alt.Y("x:N", title=None, sort=list(rows["x"]), axis=alt.Axis(labelLimit=0))
    told = alt.Color(
        "told:N",
        title=f"at {100 * LEVEL:g} %, corrected",
        scale=alt.Scale(domain=list(TOLD), range=["#1f5fa8", "#a8a8a8"]),
    )
    x = alt.X(
        "difference:Q",
        title=f"difference, {first['split']} split",
        axis=alt.Axis(labelOverlap=True, labelSeparation=6),
    )
    encoded = alt.Chart().encode(y=y, color=told)
    tooltip = ["x:N", *(f"{name}:Q" for name in ("difference", "low", "high", "p_corrected"))]
    marks = [
        alt.Chart().mark_rule(color="gray", strokeDash=[3, 3]).encode(x=alt.datum(0)),
        encoded.mark_rule().encode(x=alt.X("low:Q"), x2="high:Q"),
        encoded.mark_point(filled=True, size=60, opacity=1).encode(x=x, tooltip=tooltip),
    ]
    bars = "Without intervals."
    if frame["low"].notna().any():
        bars = f"Bars: {100 * first['confidence']:g} % intervals over {first['resampled']}."
    lines = [bars, *lower_text(frame["metric"])]
    title = alt.TitleParams(f"{first['a']} minus {first['b']}", subtitle=lines, anchor="start")
    return alt.LayerChart(data=_values(rows), layer=marks).properties(
        width=320, height=alt.Step(22), title=title
    )


def draw_profiles(frame: pd.DataFrame) -> alt.LayerChart:
    """Draw what `Study.profiles` gave: a line with its band for each checkpoint.

    Checkpoints that have no profile are named beneath the title. Raises InputError for another
    frame, and for one without any profile.
    """
    frame = _checked(frame, PROFILE, "profiles")
    numbers = ["threshold", "share", "low", "high"]
    rows = frame.assign(series=frame["checkpoint"]).loc[
        frame["threshold"].notna(), ["series", *numbers]
    ]
    if rows.empty:
        raise InputError("no checkpoint of this frame has a profile: each lacks a task")
    first = frame.iloc[0]
    side = "below" if lower_is_better(first["metric"]) else "above"
    scale = alt.Scale(zero=False, nice=False)
    encoded = alt.Chart().encode(
        x=alt.X("threshold:Q", title=f"threshold, {first['metric']}", scale=scale),
        color=_color("checkpoint", rows["series"]),
    )
    y = alt.Y("share:Q", title=f"share of runs {side} it, {first['split']} split")
    tooltip = ["series:N", *(f"{name}:Q" for name in numbers)]
    marks = [
        encoded.mark_area(opacity=0.15, invalid=BREAK).encode(y=alt.Y("low:Q"), y2="high:Q"),
        encoded.mark_line().encode(y=y, tooltip=tooltip),
    ]
    band = "Without bands."
    if rows["low"].notna().any():
        band = f"Bands: pointwise {100 * first['confidence']:g} %, {first['resampled']} resampled."
    absent = frame.loc[frame["absent"].notna(), ["checkpoint", "absent"]]
    lines = [f"{first['tasks']} tasks, taken as fixed: {first['task_names']}.", band]
    lines += [f"Learning rate: {first['select']}.", *lower_text([first["metric"]])]
    lines += [f"Left out: {name}, {why}." for name, why in absent.itertuples(index=False)]
    title = alt.TitleParams("Performance profiles", subtitle=lines, anchor="start")
    return alt.LayerChart(data=_values(rows), layer=marks).properties(
        width=420, height=240, title=title
    )


def _checked(frame: pd.DataFrame, columns: Sequence[str], made_by: str) -> pd.DataFrame:
    for name in columns:
        if name not in frame:
            raise InputError(
                f"this frame has no column {name!r}; a frame that Study.{made_by} gave is needed, "
                f"and this one has {', '.join(map(str, frame.columns))}"
            )
    if frame.empty:
        raise InputError("this frame has no rows: there is nothing to draw")
    for name in {"split", "interval"} & set(frame.columns):
        kinds = [kind for kind in frame[name].unique() if not kind.startswith("none")]
        if len(kinds) > 1:
            raise InputError(f"all rows of a figure need one {name}; there is {', '.join(kinds)}")
    return frame.reset_index(drop=True)


def _rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Take from a frame what all charts show: the panel, the mean, its interval, its runs."""
    _, column = axes_of(frame)
    counts = frame["n_ok"].astype(str) + "/" + frame["n_planned"].astype(str)
    is_whole = frame["n_ok"] == frame["n_planned"]
    marked = counts.where(frame["mean"].notna(), f"{ABSENT} " + counts)
    return frame[["mean", "low", "high"]].assign(
        panel=_with_metric(frame[column], frame["metric"]),
        n=counts,
        runs=is_whole.map({True: RUNS[0], False: RUNS[1]}),
        gap=marked.where(~is_whole | frame["mean"].isna(), ""),
    )


def _with_metric(names: pd.Series, metrics: pd.Series) -> list[str]:
    pairs = zip(names, metrics, strict=True)
    return [f"{name} ({metric})" if pd.notna(metric) else str(name) for name, metric in pairs]


def _series(frame: pd.DataFrame, over: str, series: str | None) -> tuple[str | None, pd.Series]:
    """Give the title and the name of the series of each row."""
    columns = [series] if series else ["series"]
    if columns[0] not in frame:
        names, _ = axes_of(frame)
        columns = [name for name in names if name not in (over, "point")]
    texts = [
        " ".join(map(name_text, row)) for row in frame[columns].itertuples(index=False, name=None)
    ]
    return " ".join(columns) or None, pd.Series(texts, index=frame.index)


def _refuse_doubles(rows: pd.DataFrame, key: Sequence[str], at: str, series: str | None) -> None:
    doubles = rows[rows.duplicated(list(key))]
    if not doubles.empty:
        row = doubles.iloc[0]
        by = [at, *(series or "").split(), "task"]
        raise InputError(
            f"{row['panel']}: several rows at {at} {row['x']} {row['series']}; average them "
            f"(study.table(by={by})), or keep one of them (study.where)"
        )


def _place(values: pd.Series, over: str) -> tuple[pd.Series, alt.X]:
    """Place numbers as such and all else in order: of magnitude, or of first appearance."""
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        ends = float(values.min()), float(values.max())
        is_wide = over == "learning_rate" or 0 < 10 * ends[0] <= ends[1]
        scale = alt.Scale(type="log" if is_wide else "linear", zero=False, nice=False, padding=12)
        ticks = sorted(map(float, values.unique()))
        axis = alt.Axis(format="~e" if over == "learning_rate" else ",~f", labelOverlap=True)
        if len(ticks) <= TICKS:
            axis.values = ticks
        return values, alt.X("x:Q", title=over, scale=scale, axis=axis)
    texts = values.map(name_text)
    order = list(texts.unique())
    found = [MAGNITUDE.fullmatch(text) for text in order]
    if all(found):
        sizes = {m[0]: float(m[1]) * MAGNITUDES[m[2].lower()] for m in found if m}
        order.sort(key=sizes.__getitem__)
    return texts, alt.X("x:N", title=over, sort=order, axis=alt.Axis(labelAngle=0, labelLimit=0))


def _color(title: str | None, names: pd.Series) -> alt.Color:
    order = list(names.unique())
    many = alt.Scale(domain=order, scheme="tableau10" if len(order) <= 10 else "tableau20")
    legend = alt.Legend(symbolLimit=0, labelLimit=0, symbolOpacity=1) if len(order) > 1 else None
    return alt.Color("series:N", title=title, scale=many, sort=order, legend=legend)


def _shape(rows: pd.DataFrame) -> alt.Shape:
    is_missing = (rows["runs"] == RUNS[1]) & rows["mean"].notna()
    legend = alt.Legend() if is_missing.any() else None
    scale = alt.Scale(domain=list(RUNS), range=["circle", "triangle-up"])
    return alt.Shape("runs:N", scale=scale, legend=legend)


def _score(channel: str, frame: pd.DataFrame) -> Any:
    """Name the axis of the scores by the metric, where all panels have the same."""
    metrics = frame["metric"].unique()
    title = f"{metrics[0] if len(metrics) == 1 else 'score'}, {frame['split'].iloc[0]} split"
    kind = alt.X if channel == "x" else alt.Y
    return kind("mean:Q", title=title, scale=alt.Scale(zero=False))


def _tooltip(at: str, series: str | None) -> list[alt.Tooltip]:
    named = {"x:N": at} | ({"series:N": series} if series else {})
    numbers = {"mean:Q": "mean", "low:Q": "low", "high:Q": "high", "n:N": "runs"}
    return [alt.Tooltip(field, title=title) for field, title in (named | numbers).items()]


def _values(rows: pd.DataFrame) -> alt.InlineData:
    """Give rows to Vega-Lite, absent numbers as null."""
    plain = rows.astype(object)
    records = plain.where(plain.notna(), None).to_dict("records")
    return alt.InlineData(values=[{str(name): v for name, v in r.items()} for r in records])


def _title(frame: pd.DataFrame, text: str, marks: str, notes: Sequence[str]) -> alt.TitleParams:
    said = interval_of(frame)
    lines = [f"{marks}: {said}." if said else "Without intervals."]
    if "select" in frame:
        lines.append(f"Learning rate: {same_select(frame['select'])}.")
    lines += lower_text(frame["metric"])
    absent = int(frame["mean"].isna().sum())
    if absent:
        lines.append(f"{absent} without a mean, left open.")
    title = f"{text}, {frame['split'].iloc[0]} split"
    return alt.TitleParams(title, subtitle=[*lines, *notes], anchor="start")


def _facet(
    layers: alt.LayerChart, rows: pd.DataFrame, title: alt.TitleParams, own: alt.ScaleResolveMap
) -> alt.FacetChart:
    panels = list(rows["panel"].unique())
    facet = alt.Facet("panel:N", title=None, sort=panels, header=alt.Header(labelLimit=0))
    columns = 2 if len(panels) == 4 else 3
    return layers.facet(facet, columns=columns, title=title, resolve=alt.Resolve(scale=own))
