"""A grid expands to exactly its runs, and a study is never continued with another grid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from harness.checkpoints import Discovery, Skipped
from harness.errors import SpecError, StudyError
from harness.grid import (
    FrozenGrid,
    Grid,
    find_grid_file,
    freeze,
    load_grid,
    read_frozen,
    write_frozen,
)
from harness.launch.plan import make_plan
from harness.spec import Checkpoint, Task
from harness.tasks import load_tasks
from harness.yamlio import load_yaml

GRID = {
    "name": "small",
    "tasks": ["a", "b"],
    "sweep": {"learning_rate": [1e-5, 2e-5, 5e-5]},
    "seeds": [0, 1],
    "recipe": {"max_steps": 10},
    "overrides": [{"tasks": ["b"], "recipe": {"max_steps": 20}}],
}


def grid(**changes: object) -> Grid:
    return Grid.model_validate(GRID | changes)


def card(name: str, **changes: object) -> Task:
    return TypeAdapter(Task).validate_python(
        {
            "name": name,
            "kind": "sequence_regression",
            "data": {"hub": {"path": "x/y"}},
            "text": "{sentence}",
            "metrics": ["spearman"],
        }
        | changes
    )


CATALOGUE = {name: card(name) for name in ("a", "b", "sst2")}


def checkpoint(name: str, fingerprint: str = "0" * 16) -> Checkpoint:
    return Checkpoint(name=name, path=f"/ck/{name}", fingerprint=fingerprint)


def frozen(
    grid_: Grid, *checkpoints: Checkpoint, catalogue: dict[str, Task] = CATALOGUE
) -> FrozenGrid:
    found = Discovery(checkpoints or (checkpoint("one"), checkpoint("two", "1" * 16)), ())
    return freeze(grid_, catalogue, found, Path("small.yaml"))


def test_runs_are_the_product_of_tasks_checkpoints_points_and_seeds() -> None:
    runs = frozen(grid()).runs()
    assert len(runs) == 2 * 2 * 3 * 2
    assert len({run.run_id for run in runs}) == len(runs)


def test_an_override_changes_its_tasks_only() -> None:
    steps = {(run.task.name, run.recipe.max_steps) for run in frozen(grid()).runs()}
    assert steps == {("a", 10), ("b", 20)}


def test_two_swept_fields_multiply() -> None:
    swept = grid(sweep={"learning_rate": [1e-5, 2e-5], "weight_decay": [0.0, 0.1]})
    assert swept.swept == ("learning_rate", "weight_decay")
    assert len(swept.recipes("a")) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sweep": {"learning_rate": [1e-5, 0.00001]}}, "stands twice"),
        ({"seeds": [0, 0]}, "stands twice"),
        ({"seeds": []}, "at least 1"),
        ({"tasks": ["a", "a"]}, "stands twice"),
        ({"sweep": {}}, "no `learning_rate`"),
        ({"sweep": {"learning_rate": []}}, "at least 1"),
        ({"sweep": {"learning_rate": [0]}}, "greater than 0"),
        ({"recipe": {"learning_rate": 1e-5}}, "in `sweep` and in `recipe`"),
        ({"overrides": [{"tasks": ["c"], "recipe": {}}]}, "'c' is no task of this grid"),
        ({"overrides": [{"tasks": ["a"], "recipe": {"learning_rate": 1.0}}]}, "is swept"),
        ({"recipe": {"schedule": "wsd"}}, "decay_ratio"),
    ],
)
def test_a_contradiction_in_a_grid_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grid(**changes)


def test_every_unknown_task_is_named_at_once_with_a_suggestion() -> None:
    with pytest.raises(SpecError) as caught:
        frozen(grid(tasks=["sst", "zzz"], overrides=[]))
    first, second = str(caught.value).splitlines()
    assert "tasks.0" in first
    assert "sst2" in first
    assert "tasks.1" in second


def test_a_skipped_checkpoint_is_kept_by_name_with_its_reason() -> None:
    found = Discovery(
        (checkpoint("one"),), (Skipped("broken", Path("/ck/broken"), "no config.json"),)
    )
    made = freeze(grid(), CATALOGUE, found, Path("small.yaml"))
    assert [(item.name, item.reason) for item in made.skipped] == [("broken", "no config.json")]


def test_a_frozen_grid_reads_back_as_it_was_written(tmp_path: Path) -> None:
    made = frozen(grid())
    write_frozen(tmp_path / "study", made)
    assert read_frozen(tmp_path / "study") == made
    assert [file.name for file in (tmp_path / "study").iterdir()] == ["grid.json"]


def test_a_study_may_grow(tmp_path: Path) -> None:
    write_frozen(tmp_path, frozen(grid()))
    grown = frozen(grid(seeds=[0, 1, 2], sweep={"learning_rate": [1e-5, 2e-5, 5e-5, 1e-4]}))
    write_frozen(tmp_path, grown)
    assert read_frozen(tmp_path) == grown


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (frozen(grid(seeds=[0])), r"seeds were \[0, 1\] and are \[0\]"),
        (frozen(grid(recipe={"max_steps": 11})), "a: no longer has the point max_steps=10"),
        (frozen(grid(sweep={"learning_rate": [1e-5, 2e-5]})), "point learning_rate=5e-05"),
        (frozen(grid(tasks=["a"], overrides=[])), "task 'b' is gone"),
        (frozen(grid(), checkpoint("one")), "checkpoint 'two' is gone"),
        (
            frozen(grid(), checkpoint("one", "f" * 16), checkpoint("two", "1" * 16)),
            "'one' has changed",
        ),
        (
            frozen(grid(), catalogue=CATALOGUE | {"a": card("a", max_length=8)}),
            "the card of task 'a' has changed",
        ),
    ],
)
def test_a_study_made_by_another_grid_is_refused_saying_why(
    tmp_path: Path, other: FrozenGrid, message: str
) -> None:
    write_frozen(tmp_path, frozen(grid()))
    with pytest.raises(StudyError, match=message):
        write_frozen(tmp_path, other)


def test_a_folder_that_is_no_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is no study"):
        read_frozen(tmp_path)


def test_a_damaged_grid_file_is_an_error_not_an_empty_study(tmp_path: Path) -> None:
    write_frozen(tmp_path, frozen(grid()))
    content = json.loads((tmp_path / "grid.json").read_text())
    del content["seeds"]
    (tmp_path / "grid.json").write_text(json.dumps(content))
    with pytest.raises(StudyError, match=r"grid\.json: seeds"):
        read_frozen(tmp_path)


def test_a_shipped_grid_is_found_by_name_and_an_unknown_one_lists_them(tmp_path: Path) -> None:
    assert find_grid_file("lr_seed").name == "lr_seed.yaml"
    assert find_grid_file("lr_seed.yaml") == find_grid_file("lr_seed")
    with pytest.raises(SpecError, match=r"demo\.yaml.*lr_seed\.yaml"):
        find_grid_file("lr_sed.yaml")
    with pytest.raises(SpecError):
        load_grid(tmp_path / "gone.yaml", tmp_path)


def test_the_grid_of_the_paper_counts_its_runs() -> None:
    file = find_grid_file("paper_2507_00994")
    paper = load_yaml(file, TypeAdapter(Grid))
    fifty = tuple(checkpoint(f"c{n}", f"{n:016d}") for n in range(50))
    made = freeze(paper, load_tasks(), Discovery(fifty, ()), file)
    tests = {task.name: 1 + len(task.further) for task in made.tasks}
    # NQ and MLDR are scored with MS MARCO's training: 12 data sets, 10 trainings.
    assert (len(tests), sum(tests.values())) == (10, 12)
    assert tests["msmarco"] == 3
    plan = make_plan(made, Path("nowhere"))
    assert (plan.total, plan.tests) == (15_000, 18_000)
    recipe = paper.recipes("msmarco")[0]
    assert (recipe.precision, recipe.temperature) == ("bf16_pure", 0.05)


def test_a_grid_tests_all_further_sets_of_a_card_or_those_that_it_names() -> None:
    sets = {"test_sets": {"x": {"hub": "x"}, "y": {"hub": "y"}}}
    catalogue = CATALOGUE | {"b": card("b", **sets)}
    assert frozen(grid(), catalogue=catalogue).tasks[1].further == ("x", "y")
    for named in (["y"], []):
        overrides = [{"tasks": ["b"], "further": named}]
        made = frozen(grid(overrides=overrides), catalogue=catalogue)
        assert made.tasks[1].further == tuple(named)
        assert FrozenGrid.model_validate_json(made.model_dump_json()) == made
    assert made.tasks[1].identity == CATALOGUE["b"].identity


def test_a_further_set_that_the_card_lacks_is_named() -> None:
    overrides = [{"tasks": ["b"], "further": ["z"]}]
    with pytest.raises(SpecError, match=r"further: b has no further test set 'z' \(it has: none\)"):
        frozen(grid(overrides=overrides))


QUESTIONS = TypeAdapter(Task).validate_python(
    {
        "name": "a",
        "kind": "question_answering",
        "data": {"hub": {"path": "x/y"}},
        "metrics": ["f1"],
    }
)


def test_a_head_of_answers_is_left_out_of_other_kinds() -> None:
    catalogue = CATALOGUE | {"a": QUESTIONS}
    for head, kept in (("tagger", "tagger"), ("span", None)):
        made = frozen(grid(recipe={"max_steps": 10, "head": head}), catalogue=catalogue)
        assert {recipe.head for recipe in made.recipes["a"]} == {kept}
        assert {recipe.head for recipe in made.recipes["b"]} == {None}


@pytest.mark.parametrize("name", ["demo", "smoke", "lr_seed", "real_small"])
def test_every_shipped_grid_loads(name: str) -> None:
    assert load_yaml(find_grid_file(name), TypeAdapter(Grid)).name == name


def test_a_temperature_is_said_for_retrieval_and_left_out_elsewhere() -> None:
    search = TypeAdapter(Task).validate_python(
        {
            "name": "a",
            "kind": "retrieval",
            "data": {"hub": {"path": "x/y"}},
            "metrics": ["nDCG@10"],
        }
    )
    catalogue = CATALOGUE | {"a": search}
    silent = frozen(grid(), catalogue=catalogue)
    said = frozen(grid(recipe={"max_steps": 10, "temperature": 0.05}), catalogue=catalogue)
    assert {run.run_id for run in silent.runs()} == {run.run_id for run in said.runs()}
    assert {recipe.temperature for recipe in silent.recipes["a"]} == {0.05}
    assert {recipe.temperature for recipe in said.recipes["b"]} == {None}
    swept = grid(sweep={"learning_rate": [1e-5], "temperature": [0.05, 0.1]})
    with pytest.raises(SpecError, match="same training for task b"):
        frozen(swept, catalogue=catalogue)


def test_the_window_of_buckets_counts_only_where_there_are_buckets() -> None:
    made = frozen(grid(recipe={"batching": "padded"})).recipes["a"][0]
    other = frozen(grid(recipe={"batching": "padded", "bucket_batches": 7})).recipes["a"][0]
    assert made.identity == other.identity
    bucketed = frozen(grid(recipe={"bucket_batches": 7})).recipes["a"][0]
    assert bucketed.identity != frozen(grid()).recipes["a"][0].identity
