from __future__ import annotations

import numpy as np
import pytest

from harness.results import ALL_TASKS, PER_SEED, letter_groups, lower_is_better, lower_ones
from harness.spec import Checkpoint
from tests.results.loss_study import both_ways, imported, study_of, study_of_checkpoints
from tests.small_study import CHECKPOINTS, SST2

RATES = (1e-5, 1e-4, 1e-3)
COLA = SST2.model_copy(update={"name": "cola"})
STEPS = (1000, 2000, 4000)
CURVES = {"clm": (0.60, 0.50, 0.48), "mlm": (0.80, 0.52, 0.36)}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("log_loss", True),
        ("ece", True),
        ("accuracy", False),
        ("evaluate/mae", True),
        ("evaluate/mse/mse", True),
        ("evaluate/mine", False),
        ("log_loss, ece", True),
        ("accuracy, f1", False),
        ("accuracy, ece", None),
    ],
)
def test_lower_is_better_by_the_name_of_a_metric(metric, expected):
    assert lower_is_better(metric) is expected


def test_those_that_are_better_when_lower_are_named_once():
    assert lower_ones(["accuracy, ece", "log_loss", "ece"]) == ["ece", "log_loss"]


def test_letters_begin_with_the_lowest_loss(tmp_path):
    study = study_of_checkpoints(tmp_path, {"worst": 0.60, "best": 0.20, "next": 0.21})
    found = letter_groups(study.compare_all("log_loss", interval="seeds"))
    assert found["checkpoint"].tolist() == ["best", "next", "worst"]
    assert found["mean"].tolist() == pytest.approx([0.20, 0.21, 0.60])
    assert found["groups"].tolist() == ["a", "a", "b"]


def test_differences_of_losses_stay_a_minus_b(tmp_path):
    study = study_of_checkpoints(tmp_path, {"a": 0.2, "b": 0.4}, tasks=(SST2, COLA))
    for frame in (
        study.compare("a", "b", "log_loss", interval="seeds"),
        study.compare_all("log_loss", interval="seeds"),
    ):
        assert frame["task"].tolist() == ["sst2", "cola", ALL_TASKS]
        assert frame["metric"].tolist() == ["log_loss"] * 3
        assert frame["difference"].tolist() == pytest.approx([-0.2] * 3)
        assert (frame["high"] < 0).all()


def test_a_run_with_a_lower_loss_improves_on_the_other(tmp_path):
    study = study_of_checkpoints(tmp_path, {"a": 0.2, "b": 0.4}, tasks=(SST2, COLA))
    assert study.compare("a", "b", "log_loss", interval="seeds")["improvement"].tolist() == [1] * 3
    assert study.compare("b", "a", "log_loss", interval="seeds")["improvement"].tolist() == [0] * 3


def curves_of(folder):
    checkpoints = tuple(
        Checkpoint(
            name=f"{objective}-{step}",
            path="x",
            fingerprint=f"{objective}-{step}",
            columns={"objective": objective, "intermediate_step": step},
        )
        for objective in CURVES
        for step in STEPS
    )

    def loss(run):
        objective, step = run.checkpoint.name.split("-")
        return CURVES[objective][STEPS.index(int(step))]

    return study_of(folder, loss, checkpoints=checkpoints)


def test_the_series_with_the_lower_loss_is_ahead(tmp_path):
    row = curves_of(tmp_path).crossings("objective=clm", "objective=mlm", "log_loss").iloc[0]
    assert row["ahead_after"] == "objective=mlm"
    # clm minus mlm goes from -0.02 at 2,000 to +0.12 at 4,000.
    assert row["step"] == pytest.approx(2000 + 2000 * 0.02 / 0.14)
    assert row["low"] < row["step"] < row["high"]


def test_a_loss_is_reached_from_above(tmp_path):
    study = curves_of(tmp_path)
    reached = study.steps_to_reach(0.55, "log_loss").set_index("series")
    assert reached.loc["objective=clm", "step"] == pytest.approx(1500)
    assert reached.loc["objective=mlm", "step"] == pytest.approx(1000 + 1000 * 0.25 / 0.28)
    assert set(reached["target"]) == {0.55}
    assert set(reached["share"]) == {1.0}
    reached = study.steps_to_reach(0.40, "log_loss").set_index("series")["step"]
    assert np.isnan(reached["objective=clm"])
    assert reached["objective=mlm"] == pytest.approx(2000 + 2000 * 0.12 / 0.16)
    # Both are below this loss from the start.
    assert study.steps_to_reach(0.90, "log_loss")["step"].isna().all()


def test_best_and_regret_of_losses_are_those_of_the_lowest(tmp_path):
    losses = {"sst2": (0.6, 0.3, 0.9), "cola": (0.5, 0.6, 0.8)}
    study = study_of(
        tmp_path,
        lambda run: losses[run.task.name][RATES.index(run.recipe.learning_rate)],
        tasks=(SST2, COLA),
        rates=RATES,
        checkpoints=CHECKPOINTS[:1],
    )
    frame = study.sensitivity("log_loss").set_index("task")
    assert frame["best"].tolist() == pytest.approx([0.3, 0.5, 0.4])
    # Means over tasks: 0.55, 0.45, 0.85.
    assert set(frame["common_rate"]) == {1e-4}
    assert frame["regret"].tolist() == pytest.approx([0, 0.1, 0.05], abs=1e-12)
    assert frame["range"].tolist() == pytest.approx([0.6, 0.3, 0.45])
    assert frame.loc["sst2", "area"] == pytest.approx((0.6 + 0.3) / 4 + (0.3 + 0.9) / 4)


# --- a loss that chooses: only other tools' results have one --------------------------------------

LOSSES = {
    ("validation", 1e-5): (0.30, 0.50, 0.31),
    ("validation", 1e-4): (0.60, 0.40, 0.70),
    ("test", 1e-5): (0.33, 0.34, 0.35),
    ("test", 1e-4): (0.63, 0.44, 0.73),
}


def chosen_by_loss(folder):
    rows = "".join(
        f"bert,sst2,{split},{rate},{seed},{loss}\n"
        for (split, rate), losses in LOSSES.items()
        for seed, loss in enumerate(losses)
    )
    header = "checkpoint,task,split,learning_rate,seed,log_loss\n"
    return imported(folder, header + rows, columns={"score": "log_loss"}, metric="log_loss")


def test_the_rate_with_the_lowest_loss_is_chosen(tmp_path):
    row = chosen_by_loss(tmp_path).table().iloc[0]
    assert row["learning_rate"] == 1e-5
    assert row["mean"] == pytest.approx(0.34)
    assert row["metric"] == "log_loss"


def test_each_seed_chooses_its_lowest_loss(tmp_path):
    row = chosen_by_loss(tmp_path).table(select=PER_SEED).iloc[0]
    assert row["mean"] == pytest.approx((0.33 + 0.44 + 0.35) / 3)


def test_the_best_of_m_runs_has_the_lowest_validation_loss(tmp_path):
    row = chosen_by_loss(tmp_path).sensitivity(budgets=(1, 5, 6)).iloc[0]
    assert row["best_of_1"] == pytest.approx((0.33 + 0.34 + 0.35 + 0.63 + 0.44 + 0.73) / 6)
    # Five of six runs hold the lowest loss with 5/6, the second lowest is best with 1/6.
    assert row["best_of_5"] == pytest.approx(0.33 * 5 / 6 + 0.35 / 6)
    assert row["best_of_6"] == pytest.approx(0.33)


def test_nested_intervals_choose_the_lowest_loss_again(tmp_path):
    # The lower rate has less than half of the loss of every example, and seeds move it by 0.01.
    rows = "".join(
        f"bert,sst2,{split},{rate},{seed},{number},{of_rate * (1 + number % 7) + seed / 100}\n"
        for split in ("validation", "test")
        for rate, of_rate in ((1e-5, 0.1), (1e-4, 0.3))
        for seed in (0, 1, 2)
        for number in range(40)
    )
    study = imported(
        tmp_path,
        "checkpoint,task,split,learning_rate,seed,example,score\n" + rows,
        metric="log_loss",
    )
    nested, both = (study.table(interval=name).iloc[0] for name in ("nested", "both"))
    mean = 0.1 * np.mean([1 + number % 7 for number in range(40)]) + 0.01
    assert nested["mean"] == pytest.approx(mean)
    # The same rate wins every time, so that choosing costs nothing.
    assert nested["half_width"] == pytest.approx(both["half_width"], rel=1e-3)


def test_a_mean_over_an_accuracy_and_a_loss_has_no_better_end_and_no_row(tmp_path):
    study = both_ways(tmp_path)
    frame = study.compare("bert", "gpt", interval="seeds").set_index("task")
    assert frame["difference"].to_dict() == pytest.approx({"sst2": 0.1, "cola": -0.2})
    assert frame["improvement"].to_dict() == {"sst2": 1.0, "cola": 1.0}
    assert study.compare_all(interval="seeds")["task"].tolist() == ["sst2", "cola"]
    assert study.best().set_index("task")["best"].to_dict() == {"sst2": "bert", "cola": "bert"}
    assert study.sensitivity()["task"].tolist() == ["sst2", "cola"] * 2
