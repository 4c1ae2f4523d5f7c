"""Each command on a small study, from the plan to the table."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from harness.cli.studies import show_seeds_needed
from harness.ledger import read_ledger
from harness.results import load_study
from tests.cli.conftest import Said
from tests.small_study import records_of, small_grid, write_study
from tests.small_world import SmallWorld

Harness = Callable[..., Said]

GRID = """\
name: small
tasks: [toy_sentiment, toy_entities]
sweep: {learning_rate: [1e-3, 3e-3]}
seeds: [0, 1]
recipe: {max_steps: 3, batch_size: 8}
"""


@pytest.fixture
def arguments(world: SmallWorld, tmp_path: Path) -> tuple[object, ...]:
    grid = tmp_path / "small.yaml"
    grid.write_text(GRID)
    data, checkpoint = world.folder / "data", world.folder / "encoder"
    return ("--grid", grid, "--checkpoints", checkpoint, "--data-root", data)


@pytest.fixture
def study(harness: Harness, arguments: tuple[object, ...], tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    said = harness("run", *arguments, "--study", folder, "--address", "local")
    assert said.code == 0, said.err
    assert "8 ok, 0 diverged, 0 failed, 0 left" in said.err
    return folder


def test_plan_counts_and_starts_nothing(
    harness: Harness, arguments: tuple[object, ...], tmp_path: Path
) -> None:
    said = harness("plan", *arguments, "--study", tmp_path / "study")
    assert said.code == 0, said.err
    assert "small: 8 runs" in said.out
    assert "1 checkpoints x 2 tasks x 2 points x 2 seeds" in said.out
    assert "0 done, 0 failed, 8 to run" in said.out
    assert not (tmp_path / "study").exists()


def test_plan_says_how_many_seeds_an_interval_needs(
    harness: Harness, arguments: tuple[object, ...], study: Path
) -> None:
    said = harness("plan", *arguments, "--study", study, "--pilot", study, "--half-width", "0.9")
    assert said.code == 0, said.err
    assert "seeds for ± 0.9 (2 planned)" in said.out
    alone = harness("plan", *arguments, "--study", study, "--half-width", "0.9")
    assert alone.code == 2
    assert "--half-width needs --pilot STUDY" in alone.err


def test_a_pilot_of_one_seed_tells_nothing_of_seeds(tmp_path: Path) -> None:
    grid = small_grid(seeds=(0,))
    pilot = write_study(tmp_path / "pilot", grid, records_of(grid))
    out = Console(record=True, width=200, file=io.StringIO())
    show_seeds_needed(grid, pilot, 0.1, out)
    assert "sst2: no two good runs of one learning rate in" in out.export_text()


def test_the_same_command_again_runs_nothing_twice(
    harness: Harness, arguments: tuple[object, ...], study: Path
) -> None:
    said = harness("run", *arguments, "--study", study, "--address", "local")
    assert said.code == 0
    assert "8 done, 0 failed, 0 to run" in said.err
    records = read_ledger(study)
    assert len(records) == len({record["run_id"] for record in records}) == 8


def test_a_grown_grid_runs_only_what_is_new(
    harness: Harness, arguments: tuple[object, ...], study: Path, tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(GRID.replace("[0, 1]", "[0, 1, 2]"))
    said = harness("run", *arguments, "--study", study, "--address", "local")
    assert "8 done, 0 failed, 4 to run" in said.err
    assert len(read_ledger(study)) == 12


def test_status_counts(harness: Harness, study: Path) -> None:
    said = harness("status", study)
    assert "8 runs planned ok 8 diverged 0 failed 0 blocked 0 left 0" in said.out


def test_table_shows_n_in_every_cell(harness: Harness, study: Path) -> None:
    said = harness("table", study)
    assert said.code == 0
    assert said.out.count("(2/2)") == 2


def test_table_by_learning_rate_shows_every_rate(harness: Harness, study: Path) -> None:
    said = harness("table", study, "--by", "learning_rate")
    assert said.out.count("(2/2)") == 4
    assert "learning_rate=0.003" in said.out


@pytest.mark.parametrize(
    ("form", "sign"),
    [
        ("md", "| checkpoint"),
        ("latex", r"\toprule"),
        ("csv", "checkpoint,task,"),
        ("json", '"checkpoint":'),
    ],
)
def test_table_writes_every_format_to_the_screen_and_to_a_file(
    harness: Harness, study: Path, tmp_path: Path, form: str, sign: str
) -> None:
    assert sign in harness("table", study, "--format", form).out
    file = tmp_path / "table"
    assert harness("table", study, "--format", form, "--output", file).code == 0
    assert sign in file.read_text()


@pytest.mark.parametrize("interval", ["seeds", "both", "nested"])
def test_table_shows_every_interval(harness: Harness, study: Path, interval: str) -> None:
    said = harness("table", study, "--interval", interval)
    assert said.code == 0, said.err
    assert said.out.count(" ± ") >= 2


def test_table_by_kind_and_where_and_a_second_study(harness: Harness, study: Path) -> None:
    said = harness("table", study, "--by", "kind", "--also", study)
    assert "sequence_classification token_classification" in said.out
    assert said.out.count("(2/2)") == 2
    said = harness("table", study, "--where", "task=toy_entities", "--where", "seed=0")
    assert "toy_sentiment" not in said.out
    assert "(1/1)" in said.out


def test_sensitivity_and_export(harness: Harness, study: Path, tmp_path: Path) -> None:
    said = harness("sensitivity", study)
    assert said.code == 0, said.err
    assert "(all tasks)" in said.out
    for form in ("csv", "parquet"):
        assert harness("export", study, "-o", tmp_path / "out", "--format", form).code == 0
    assert len(pd.read_csv(tmp_path / "out" / "records.csv")) == 8
    assert len(pd.read_parquet(tmp_path / "out" / "scores.parquet")) > 16
    assert harness("export", study, "-o", tmp_path / "out", "--format", "xls").code == 2


def test_compare_needs_two_sides(harness: Harness, study: Path) -> None:
    assert "give two checkpoints" in harness("compare", study, "encoder").err
    assert "no run of this study has a checkpoint 'x'" in harness("compare", study, "x", "y").err
    assert "there are no two checkpoints" in harness("compare", study, "--all").err


def test_table_writes_parquet(harness: Harness, study: Path, tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    assert harness("table", study, "--format", "parquet", "-o", file).code == 0
    assert list(pd.read_parquet(file)["task"]) == ["toy_sentiment", "toy_entities"]
    assert harness("table", study, "--format", "parquet").code == 2


@pytest.mark.parametrize(
    ("arguments_", "message"),
    [
        (("--by", "size"), "no run of this study has a column 'size'"),
        (("--where", "tsk=a"), "did you mean 'task'"),
        (("--interval", "all"), "'all' is none of seeds, both, nested"),
        (("--format", "html"), "--format html"),
        (("--metric", "acuracy"), "acuracy"),
        (("--split", "tset"), "tset"),
        (("--select", "7"), "no run of the study has learning_rate=7"),
        (("--select", "best"), "--select best: must be validation, per-seed or a learning rate"),
    ],
)
def test_a_wrong_option_of_table_is_named(
    harness: Harness, study: Path, arguments_: tuple[str, ...], message: str
) -> None:
    said = harness("table", study, *arguments_)
    assert said.code == 2
    assert message in said.err


def test_scores_computed_again_from_stored_predictions_are_those_of_the_records(
    harness: Harness, study: Path
) -> None:
    scored = read_ledger(study)[0]["scores"]["test"]
    for names in ((), ("entity_f1", "paper/macro_f1", "paper/accuracy", "ece", "mcc")):
        said = harness("rescore", study, *(word for name in names for word in ("-m", name)))
        assert said.code == 0, said.err
        assert all(name in said.out for name in names)
        assert "metric runs with a value new changed" in said.out
        assert "4 4 0 0" in said.out
    assert not (study / "rescored").exists()
    assert read_ledger(study)[0]["scores"]["test"] == scored


def test_a_metric_that_was_not_computed_is_in_the_table_after_rescoring(
    harness: Harness, study: Path
) -> None:
    assert harness("table", study, "--metric", "entity_f1/PER").code == 2
    said = harness("rescore", study, "--metric", "entity_f1/PER")
    assert said.code == 0, said.err
    assert "entity_f1/PER 4 4 4 0" in said.out
    table = harness("table", study, "--metric", "entity_f1/PER")
    assert table.code == 0, table.err
    assert table.out.count("(2/2)") == 1
    assert "8 runs planned ok 8" in harness("status", study).out


def test_rescoring_names_unknown_metrics_and_runs_without_predictions(
    harness: Harness, study: Path
) -> None:
    unknown = harness("rescore", study, "--metric", "entity_f2")
    assert unknown.code == 2
    assert "no task of this study has the metric 'entity_f2'" in unknown.err
    assert "did you mean 'entity_f1'" in unknown.err
    lost = next((study / "predictions").rglob("*.parquet"))
    lost.unlink()
    said = harness("rescore", study)
    assert said.code == 1
    assert f"not scored {lost.stem}: " in said.err
    assert "1 runs could not be scored" in said.err


def test_failed_runs_are_said_kept_and_retried_on_request(
    harness: Harness, arguments: tuple[object, ...], world: SmallWorld, tmp_path: Path
) -> None:
    """A card whose sentences are all fine when planned, and a recipe that diverges when run."""
    study = tmp_path / "study"
    (tmp_path / "small.yaml").write_text(GRID.replace("3e-3", "1e30").replace("[0, 1]", "[0]"))
    said = harness("run", *arguments, "--study", study, "--address", "local")
    assert said.code == 1
    assert "2 ok, 2 diverged" in said.err
    assert "diverged encoder on toy_sentiment: learning rate 1e+30, seed 0" in said.err
    again = harness("run", *arguments, "--study", study, "--address", "local")
    assert again.code == 1
    assert "4 done, 0 failed, 0 to run" in again.err
    assert "diverged 2" in harness("status", study).out


def test_tasks_are_listed_shown_and_checked(harness: Harness, world: SmallWorld) -> None:
    assert "toy_sentiment" in harness("tasks", "list").out
    shown = harness("tasks", "show", "toy_sentiment", "--data-root", world.folder / "data")
    assert "labels: [negative, positive]" in shown.out
    assert "the first training example text:" in shown.out
    made_up = harness("tasks", "show", "mnli", "--tokenizer", world.encoder.path)
    assert "text: Premise: <premise> Hypothesis: <hypothesis> label: entailment" in made_up.out
    assert "in tokens: [CLS]" in made_up.out
    for name in world.tasks:
        checked = harness("tasks", "check", name, "--data-root", world.folder / "data")
        assert checked.code == 0, checked.err
        assert "train" in checked.out
        assert "words: 50 %" in checked.out
    measured = harness(
        "tasks", "check", "toy_answers", "--data-root", world.folder / "data",
        "--tokenizer", world.encoder.path,
    )  # fmt: skip
    assert "tokens: 50 %" in measured.out, measured.err
    unknown = harness("tasks", "show", "toy_sentimant")
    assert unknown.code == 2
    assert "toy_sentiment" in unknown.err


def test_a_check_counts_the_short_rows_that_it_leaves_out(harness: Harness, tmp_path: Path) -> None:
    qqp = tmp_path / "QQP"
    qqp.mkdir()
    rows = [f"{n}\t1\t2\tIs it {n}?\tIs it that?\t{n % 2}\n" for n in range(40)]
    header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    (qqp / "train.tsv").write_text("".join([header, *rows, "40\t1\t2\tBroken off\n"]))
    (qqp / "dev.tsv").write_text("".join([header, *rows[:10]]))
    said = harness("tasks", "check", "qqp", "--data-root", tmp_path)
    assert said.code == 0, said.err
    assert "left out for too few fields: 1 validation" in said.out
    assert "not_duplicate 5, duplicate 5; left out for too few fields: 0" in said.out


def test_rank_prints_all_tasks_as_one(harness: Harness, tmp_path: Path) -> None:
    grid = small_grid()
    folder = write_study(tmp_path / "study", grid, records_of(grid))
    said = harness("rank", folder)
    assert said.code == 0, said.err
    assert "Over 2 tasks (sst2, stsb; accuracy, spearman)" in said.out
    assert "are resampled, tasks and test examples are taken as fixed" in said.out
    file = tmp_path / "ranks.csv"
    said = harness("rank", folder, "--where", "task=sst2", "--format", "csv", "-o", file)
    assert said.code == 0, said.err
    frame = pd.read_csv(file)
    assert frame["rank"].tolist() == [1.5, 1.5]
    assert frame["mean"].tolist() == pytest.approx([0.81, 0.81])
    assert harness("rank", folder, "--format", "latex").out.count(r"\toprule") == 1


def test_a_check_shows_a_text_with_several_labels(harness: Harness, tmp_path: Path) -> None:
    folder = tmp_path / "SST-2"
    folder.mkdir()
    rows = ["sentence\tlabel", "so [good]\t1", "so [good] \t0", "bad\t0", *("fine\t1",) * 40]
    (folder / "train.tsv").write_text("\n".join(["sentence\tlabel", *("fine\t1",) * 40]))
    (folder / "dev.tsv").write_text("\n".join(rows))
    said = harness("tasks", "check", "sst2", "--data-root", tmp_path)
    assert said.code == 0, said.err
    assert "test: 1 text has several labels so [good]: positive, negative" in said.out
    assert "train: " not in said.out


def test_checkpoints_are_listed_with_what_is_skipped(
    harness: Harness, world: SmallWorld, tmp_path: Path
) -> None:
    (tmp_path / "ck" / "half").mkdir(parents=True)
    (tmp_path / "ck" / "half" / "model.safetensors").write_bytes(b"")
    (tmp_path / "ck" / "whole").symlink_to(world.folder / "encoder")
    said = harness("checkpoints", tmp_path / "ck")
    assert said.code == 0
    assert world.encoder.fingerprint in said.out
    assert "skipped" in said.out
    assert "half" in said.out


def test_a_task_with_native_files_only_can_not_be_fetched(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(GRID)
    said = harness("fetch", "--grid", tmp_path / "small.yaml")
    assert said.code == 0
    assert "toy_sentiment: native files only" in said.out


def test_a_moved_and_renamed_checkpoint_keeps_its_finished_runs(
    harness: Harness, arguments: tuple[object, ...], study: Path, world: SmallWorld, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere" / "under-another-name"
    shutil.copytree(world.folder / "encoder", moved)
    shutil.copytree(moved, tmp_path / "elsewhere" / "yet-another-copy")
    there = [moved.parent if word == world.folder / "encoder" else word for word in arguments]
    said = harness("plan", *there, "--study", study)
    assert "small: 8 runs" in said.out
    assert "8 done, 0 failed, 0 to run" in said.out
    assert "skipped yet-another-copy: has the same content as 'under-another-name'" in said.out


def test_a_random_control_is_one_flag(
    harness: Harness, arguments: tuple[object, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    said = harness("run", *arguments, "--study", folder, "--address", "local", "--random-init")
    assert said.code == 0, said.err
    assert "16 ok" in said.err
    assert "encoder@random" in harness("table", folder).out
    scores = load_study(folder).scores
    assert set(scores["objective"].dropna()) == {"random"}
    assert set(scores.loc[scores["objective"] == "random", "checkpoint"]) == {"encoder@random"}
