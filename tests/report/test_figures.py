from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import vl_convert

from harness.errors import HarnessError, InputError
from harness.report.figures import draw_cells, draw_comparison, draw_curves, draw_profiles
from harness.results import load_study
from harness.spec import Checkpoint
from tests.results.test_comparing import MEANS, recipes_study
from tests.results.test_over_tasks import study_of as study_of_three_tasks
from tests.results.test_over_tasks import without_stsb_of_clm
from tests.small_study import SST2, diverged, record_of, records_of, small_grid, write_study

REPOSITORY = Path(__file__).parents[2]
RATES = (1e-5, 5e-5, 1e-4)
NUMBERS = ["mean", "low", "high"]


def values_of(chart):
    """Give the rows that a chart hands to Vega-Lite, of a chart that fits the schema."""
    spec = chart.to_dict()
    (rows,) = [
        rows for rows in spec["datasets"].values() if "panel" in rows[0] or "told" in rows[0]
    ]
    json.dumps(spec, allow_nan=False)
    return pd.DataFrame(rows)


def drawn(chart):
    """Let Vega draw the chart; gives the SVG."""
    return vl_convert.vegalite_to_svg(chart.to_json())


def encodings(chart, mark):
    spec = chart.to_dict()
    layers = spec.get("spec", spec)["layer"]
    return [layer["encoding"] for layer in layers if layer["mark"]["type"] == mark]


def subtitle(chart):
    return " ".join(chart.to_dict()["title"]["subtitle"])


@pytest.fixture
def study(tmp_path):
    """On sst2 all runs of clm diverged at the second of three rates, one of mlm_40 at the third."""
    grid = small_grid(rates=RATES)

    def make(run):
        rate = run.recipe.learning_rate
        if run.task.name == "sst2" and run.checkpoint.name == "clm" and rate == RATES[1]:
            return diverged(run, 3)
        if run.task.name == "sst2" and run.checkpoint.name == "mlm_40" and rate == RATES[2]:
            return diverged(run, 3) if run.seed == 0 else record_of(run, 0.5, 0.5)
        score = 0.8 + run.seed / 100 - RATES.index(rate) / 50
        return record_of(run, score, score)

    return load_study(write_study(tmp_path / "study", grid, records_of(grid, make)))


def sized_study(folder, columns):
    """Make a study of checkpoints with these columns; the score is the place in the list."""
    checkpoints = tuple(
        Checkpoint(name=f"c{i}", path=f"c{i}", fingerprint=f"{i:016x}", columns=c)
        for i, c in enumerate(columns)
    )
    grid = small_grid(rates=(1e-5,), checkpoints=checkpoints, tasks=(SST2,))

    def make(run):
        score = int(run.checkpoint.name[1:]) / 10 + run.seed / 100
        return record_of(run, score, score)

    return load_study(write_study(folder, grid, records_of(grid, make)))


def test_curves_over_rates_hold_the_numbers_of_the_frame_and_no_others(study):
    frame = study.rates()
    rows = values_of(draw_curves(frame, "learning_rate"))
    assert rows["x"].tolist() == frame["learning_rate"].tolist()
    assert rows["series"].tolist() == frame["checkpoint"].tolist()
    np.testing.assert_array_equal(rows[NUMBERS].to_numpy(float), frame[NUMBERS].to_numpy())
    assert set(rows["panel"]) == {"sst2 (accuracy)", "stsb (spearman)"}


def test_a_rate_without_a_mean_is_null_and_breaks_the_line(study):
    chart = draw_curves(study.rates(), "learning_rate")
    rows = values_of(chart)
    clm = rows[(rows["series"] == "clm") & (rows["panel"] == "sst2 (accuracy)")]
    assert clm["mean"].isna().tolist() == [False, True, False]
    assert clm["n"].tolist() == ["3/3", "0/3", "3/3"]
    assert "1 without a mean, left open" in subtitle(chart)
    # Three lines of three points are drawn in one stroke; that of clm is two points that no
    # stroke joins.
    lines = re.findall(r'aria-roledescription="line mark"[^>]* d="([^"]*)"', drawn(chart))
    assert sorted(line.count("L") for line in lines) == [0, 2, 2, 2]
    assert sum(line.count("M") for line in lines) == 5


def test_a_rate_with_missing_runs_has_another_mark(study):
    rows = values_of(draw_curves(study.rates(), "learning_rate"))
    some = rows[rows["runs"] == "some missing"]
    assert some.loc[some["mean"].notna(), ["series", "x", "n"]].to_numpy().tolist() == [
        ["mlm_40", 1e-4, "2/3"]
    ]


def test_rates_are_the_ticks_of_a_logarithmic_axis(study):
    (line,) = encodings(draw_curves(study.rates(), "learning_rate"), "line")
    assert line["x"]["scale"]["type"] == "log"
    assert line["x"]["axis"]["values"] == list(RATES)
    assert line["y"]["title"] == "score, test split"


def test_a_figure_says_what_its_interval_is(study):
    frame = study.rates(confidence=0.9)
    assert subtitle(draw_curves(frame, "learning_rate")).startswith(
        "Bands and bars: Student t over seeds, 90 %: what other seeds would give, on the same test "
        "examples."
    )
    bare = frame.assign(low=np.nan, high=np.nan, half_width=np.nan)
    assert subtitle(draw_cells(bare.head(2))).startswith("Without intervals.")


def test_groups_are_series_and_kinds_are_panels(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    frame = study.table(by=["learning_rate", "objective", "kind"])
    chart = draw_curves(frame, "learning_rate")
    rows = values_of(chart)
    assert set(rows["series"]) == {"clm", "mlm"}
    assert set(rows["panel"]) == {
        "sequence_classification (accuracy)",
        "sequence_regression (spearman)",
    }
    assert rows["mean"].tolist() == frame["mean"].tolist()
    assert encodings(chart, "line")[0]["color"]["title"] == "objective"


def test_sizes_stand_in_the_order_of_their_magnitude(tmp_path):
    sizes = [{"size": "1b"}, {"size": "210m"}, {"size": "610m"}]
    (line,) = encodings(draw_curves(sized_study(tmp_path, sizes).table(by="size"), "size"), "line")
    assert line["x"]["sort"] == ["210m", "610m", "1b"]
    assert line["x"]["type"] == "nominal"
    assert line["y"]["title"] == "accuracy, test split"


def test_checkpoints_without_the_column_are_left_out_by_count(tmp_path):
    columns = [{"size": "1b", "mask_ratio": 20}, {"size": "1b", "mask_ratio": 40}, {"size": "1b"}]
    chart = draw_curves(sized_study(tmp_path, columns).table(), "mask_ratio", "size")
    rows = values_of(chart)
    assert rows["x"].tolist() == [20, 40]
    assert rows["mean"].tolist() == pytest.approx([0.01, 0.11])
    assert "1 without mask_ratio, not drawn." in subtitle(chart)
    assert encodings(chart, "line")[0]["x"]["scale"]["type"] == "linear"


def test_two_rows_at_one_place_of_a_series_are_refused(tmp_path):
    study = sized_study(tmp_path, [{"size": "1b", "seed": 0}, {"size": "1b", "seed": 1}])
    with pytest.raises(InputError, match=r"several rows at size 1b 1b; average them \(study.table"):
        draw_curves(study.table(), "size", "size")


def test_curves_over_steps_are_those_of_dynamics(tmp_path):
    steps = [
        {"objective": o, "intermediate_step": s} for o in ("clm", "mlm") for s in (100, 1000, 5000)
    ]
    frame = sized_study(tmp_path, steps).dynamics(interval="seeds")
    rows = values_of(draw_curves(frame, "step"))
    assert rows["series"].tolist() == ["objective=clm"] * 3 + ["objective=mlm"] * 3
    assert rows["x"].tolist() == [100, 1000, 5000] * 2
    np.testing.assert_array_equal(rows[NUMBERS].to_numpy(float), frame[NUMBERS].to_numpy())


def test_cells_hold_the_numbers_of_the_table_and_leave_absent_ones_open(study):
    # No rate is asked to be whole, so the middle one is where clm has no mean.
    frame = study.table(select=RATES[1])
    chart = draw_cells(frame, "checkpoint")
    rows = values_of(chart)
    assert rows["x"].tolist() == frame["checkpoint"].tolist()
    np.testing.assert_array_equal(rows[NUMBERS].to_numpy(float), frame[NUMBERS].to_numpy())
    absent = rows[rows["mean"].isna()]
    assert absent[["x", "panel", "gap"]].to_numpy().tolist() == [
        ["clm", "sst2 (accuracy)", "— 0/3"]
    ]
    assert drawn(chart).count('aria-roledescription="point"') == 3
    assert ">— 0/3<" in drawn(chart)


def test_a_comparison_holds_the_differences_and_marks_those_told_apart(tmp_path):
    frame = recipes_study(tmp_path, MEANS).compare("a1", "a2", interval="seeds", confidence=0.9)
    frame.loc[0, "p_corrected"] = 0.04
    frame.loc[1, ["low", "high", "p", "p_corrected"]] = np.nan
    chart = draw_comparison(frame)
    rows = values_of(chart)
    assert rows["x"].tolist() == ["sst2 (accuracy)", "stsb (spearman)", "(all tasks)"]
    assert rows["difference"].tolist() == frame["difference"].tolist()
    np.testing.assert_array_equal(rows[["low", "high"]].to_numpy(float), frame[["low", "high"]])
    assert rows["told"].tolist()[:2] == ["told apart", "not told apart"]
    assert chart.to_dict()["title"]["text"] == "a1 minus a2"
    assert subtitle(chart) == "Bars: 90 % intervals over seeds."
    assert drawn(chart).count('aria-roledescription="point"') == 3


def test_frames_of_something_else_are_refused(study):
    with pytest.raises(
        InputError, match=r"no column 'mean'; a frame that Study[.]rates, dynamics or"
    ):
        draw_curves(study.scores, "learning_rate")
    with pytest.raises(InputError, match="no column 'sise'"):
        draw_curves(study.rates(), "sise")
    with pytest.raises(InputError, match=r"no column 'a'; a frame that Study[.]compare gave"):
        draw_comparison(study.table())
    with pytest.raises(InputError, match="no rows"):
        draw_cells(study.table().head(0))
    with pytest.raises(InputError, match="learning rates of this frame were chosen"):
        draw_curves(study.table(), "learning_rate")
    with pytest.raises(InputError, match="need one split; there is test, validation"):
        draw_cells(pd.concat([study.table(), study.table(split="validation")]))


def test_a_comparison_is_of_one_pair(tmp_path):
    pairs = recipes_study(tmp_path, MEANS).compare_all(interval="seeds")
    with pytest.raises(InputError, match="this frame has 15 pairs; keep the rows of one"):
        draw_comparison(pairs)
    one = pairs[(pairs["a"] == "a1") & (pairs["b"] == "b1")]
    assert len(values_of(draw_comparison(one))) == 3


def test_a_figure_may_have_more_rows_than_altair_allows_by_default(study):
    row = study.rates().iloc[:1]
    many = row.loc[row.index.repeat(5001)].assign(learning_rate=np.linspace(1e-5, 1e-3, 5001))
    assert len(values_of(draw_curves(many, "learning_rate"))) == 5001


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    text = (REPOSITORY / "docs" / "results.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    shutil.copytree(REPOSITORY / "results" / "published", tmp_path / "results" / "published")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/results.md", "exec"), {})
    names = (
        "rates.svg",
        "objectives.html",
        "steps.svg",
        "leaderboard.svg",
        "recipes.png",
        "sizes.svg",
    )
    assert all((tmp_path / name).stat().st_size > 1000 for name in names)


def test_without_altair_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "harness.report.figures")
    with pytest.raises(HarnessError, match="pip install altair vl-convert-python"):
        importlib.import_module("harness.report.figures")


def test_a_profile_is_drawn_as_it_is_with_its_band(tmp_path):
    frame = study_of_three_tasks(tmp_path).profiles([0.45, 0.72, 0.99])
    chart = draw_profiles(frame)
    (rows,) = chart.to_dict()["datasets"].values()
    assert [row["share"] for row in rows] == frame["share"].tolist()
    assert [row["series"] for row in rows] == ["mlm_40"] * 3 + ["clm"] * 3
    assert [(row["low"], row["high"]) for row in rows] == list(
        frame[["low", "high"]].itertuples(index=False, name=None)
    )
    assert "3 tasks, taken as fixed: sst2, cola, stsb." in subtitle(chart)
    assert "pointwise 95 %, seeds within each task resampled" in subtitle(chart)
    (line,) = encodings(chart, "line")
    assert line["y"]["title"] == "share of runs above it, test split"
    assert "share of runs above it" in drawn(chart)


def test_a_checkpoint_without_a_profile_is_named(tmp_path):
    chart = draw_profiles(study_of_three_tasks(tmp_path, without_stsb_of_clm).profiles())
    assert "Left out: clm, without a learning rate with all runs good: stsb." in subtitle(chart)
    (rows,) = chart.to_dict()["datasets"].values()
    assert {row["series"] for row in rows} == {"mlm_40"}


def test_a_frame_without_any_profile_is_refused(tmp_path):
    frame = study_of_three_tasks(tmp_path, without_stsb_of_clm).profiles()
    with pytest.raises(InputError, match="no checkpoint of this frame has a profile"):
        draw_profiles(frame[frame["checkpoint"] == "clm"])
