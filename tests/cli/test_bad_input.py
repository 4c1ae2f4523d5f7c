"""Bad input: an error that names the place and the remedy, exit code 2, and nothing started."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.ledger import read_ledger
from harness.shipped import shipped_folder
from tests.cli.conftest import Said
from tests.small_world import SmallWorld

GRID = """\
name: one
tasks: [toy_sentiment]
sweep: {learning_rate: [1e-3, 3e-3]}
seeds: [0]
recipe: {max_steps: 2}
"""
Harness = Callable[..., Said]


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "one.yaml"
    path.write_text(GRID)
    return path


@pytest.fixture
def refused(harness: Harness, world: SmallWorld, grid: Path, tmp_path: Path) -> Callable[..., str]:
    """Give a function that runs with some faulty input and returns what was said of it."""

    def call(
        *,
        text: str = GRID,
        data: Path | None = None,
        checkpoints: Path | str | None = None,
        more: tuple[object, ...] = (),
        code: int = 2,
    ) -> str:
        grid.write_text(text)
        study = tmp_path / "study"
        said = harness(
            "run", "--grid", grid, "--checkpoints", checkpoints or world.folder / "encoder",
            "--data-root", data or world.folder / "data", "--study", study,
            "--address", "local", *more,
        )  # fmt: skip
        assert said.code == code, said.err
        assert "Traceback" not in said.err
        assert not (study / "ledger").exists()
        return said.err

    return call


def test_an_unknown_task_is_named_with_a_suggestion(refused) -> None:
    said = refused(text=GRID.replace("toy_sentiment", "toy_sentimant"))
    assert "toy_sentimant" in said
    assert "toy_sentiment" in said


def test_a_rate_that_is_not_positive_is_named_with_its_line(refused) -> None:
    said = refused(text=GRID.replace("3e-3", "0"))
    assert "one.yaml:3: sweep.learning_rate.1" in said


def test_duplicate_points_are_named_with_their_line(refused) -> None:
    assert "one.yaml:3: sweep.learning_rate: 0.001 stands twice" in refused(
        text=GRID.replace("3e-3", "0.001")
    )


def test_a_misspelt_key_is_named_with_a_suggestion(refused) -> None:
    said = refused(text=GRID.replace("max_steps", "max_step"))
    assert "one.yaml:5: recipe.max_step: no such key; did you mean 'max_steps'?" in said


def test_a_data_root_that_is_not_there_is_named(refused, tmp_path: Path) -> None:
    assert "no such folder" in refused(data=tmp_path / "gone")


@pytest.mark.parametrize("command", ["show", "check"])
def test_it_is_named_where_cards_are_looked_at_too(
    harness: Harness, tmp_path: Path, command: str
) -> None:
    said = harness("tasks", command, "sst2", "--data-root", tmp_path / "gone")
    assert said.code == 2
    assert "--data-root" in said.err
    assert "no such folder" in said.err


def test_a_missing_data_file_is_named_with_its_place(refused, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    said = refused(data=tmp_path / "data")
    assert said.count("task toy_sentiment: ") == 1
    assert "train.tsv" in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("sentence\tlabel\n", "no rows"),
        ("sentence\tlabel\nfine\tgood\nbad\tmaybe\n", ":2: "),
        ("sentence\tlabel\nfine\t-1\nbad\t-1\n", "-1"),
        ("sentence\tlabel\nfine\t1\textra\n", ":2: "),
    ],
)
def test_an_empty_unlabelled_or_wrongly_labelled_file_is_refused(
    refused, world: SmallWorld, tmp_path: Path, content: str, message: str
) -> None:
    data = shutil.copytree(world.folder / "data", tmp_path / "data")
    (data / "toy_sentiment" / "train.tsv").write_text(content)
    said = refused(data=data)
    assert message in said
    assert "train.tsv" in said


def test_a_folder_without_checkpoints_is_refused(refused, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert str(tmp_path / "empty") in refused(checkpoints=tmp_path / "empty").replace(" ", "")


def test_a_checkpoint_that_is_given_alone_and_broken_is_refused(
    refused, world: SmallWorld, tmp_path: Path
) -> None:
    broken = shutil.copytree(world.folder / "encoder", tmp_path / "broken")
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    said = refused(checkpoints=broken)
    assert "model.safetensors" in said


def test_a_task_without_its_metric_is_refused_before_anything_starts(
    refused, tmp_path: Path
) -> None:
    cards = tmp_path / "cards"
    cards.mkdir()
    card = shipped_folder("tasks") / "toy" / "toy_sentiment.yaml"
    (cards / card.name).write_text(card.read_text().replace("[accuracy", "[acuracy"))
    said = refused(more=("--tasks", cards))
    assert "acuracy" in said
    assert "did you mean" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [("--attention", "sideways"), ("--pooling", "max"), ("--threads-per-run", "many")],
)
def test_an_option_with_a_wrong_value_is_refused(refused, option: str, value: str) -> None:
    said = refused(more=(option, value))
    assert option in said
    assert value in said


def test_a_study_made_by_another_grid_is_refused(
    harness: Harness, world: SmallWorld, grid: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    common = (
        "--checkpoints",
        world.folder / "encoder",
        "--data-root",
        world.folder / "data",
        "--address",
        "local",
    )
    assert harness("run", "--grid", grid, "--study", study, *common).code == 0
    grid.write_text(GRID.replace("max_steps: 2", "max_steps: 3"))
    said = harness("run", "--grid", grid, "--study", study, *common)
    assert said.code == 2
    assert "made by another grid" in said.err
    assert "max_steps=2" in said.err
    assert {record["recipe"]["max_steps"] for record in read_ledger(study)} == {2}


def test_a_broken_checkpoint_among_good_ones_is_a_named_skip_that_the_table_shows(
    harness: Harness, world: SmallWorld, grid: Path, tmp_path: Path
) -> None:
    many = tmp_path / "many"
    shutil.copytree(world.folder / "encoder", many / "good")
    broken = shutil.copytree(world.folder / "encoder", many / "broken")
    (broken / "config.json").unlink()
    study = tmp_path / "study"
    said = harness(
        "run", "--grid", grid, "--checkpoints", many, "--data-root", world.folder / "data",
        "--study", study, "--address", "local",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "skipped broken" in said.err
    table = harness("table", study)
    assert "skipped: broken" in table.out
    assert "good" in table.out


def test_no_study_is_said_plainly(harness: Harness, tmp_path: Path) -> None:
    for command in ("status", "table", "rescore"):
        said = harness(command, tmp_path)
        assert said.code == 2
        assert "is no study" in said.err


def test_data_that_changed_since_the_first_runs_are_refused(
    harness: Harness, world: SmallWorld, grid: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    data = shutil.copytree(world.folder / "data", tmp_path / "data")
    common = ("--checkpoints", world.folder / "encoder", "--data-root", data, "--address", "local")
    assert harness("run", "--grid", grid, "--study", study, *common).code == 0
    train = data / "toy_sentiment" / "train.tsv"
    train.write_text("".join(train.read_text().splitlines(keepends=True)[:-1]))
    said = harness("run", "--grid", grid, "--study", study, *common)
    assert said.code == 2
    assert "train data of task toy_sentiment have changed" in said.err


def test_a_study_that_is_a_file_is_refused(refused, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for study in (file, file / "below"):
        assert "can't be written" in refused(more=("--study", study))


def test_a_cache_that_can_not_be_written_is_refused(
    refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    assert "HARNESS_CACHE" in refused()
