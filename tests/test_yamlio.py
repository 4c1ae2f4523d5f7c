"""Every fault of a YAML file is reported, at its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from harness.errors import SpecError
from harness.grid import Grid
from harness.spec import Task
from harness.tasks import load_tasks
from harness.yamlio import load_yaml, to_yaml

GRID = TypeAdapter(Grid)
TASK: TypeAdapter[Task] = TypeAdapter(Task)

GOOD = """\
name: small
tasks: [sst2]
sweep:
  learning_rate: [1e-5, 2e-5]
seeds: [0, 1]
recipe:
  max_steps: 010
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "grid.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str, adapter: TypeAdapter = GRID) -> list[str]:
    path = write(folder, text)
    with pytest.raises(SpecError) as caught:
        load_yaml(path, adapter)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]


def test_numbers_are_read_as_yaml_1_2_reads_them(tmp_path: Path) -> None:
    grid = load_yaml(write(tmp_path, GOOD), GRID)
    assert grid.sweep.learning_rate == (1e-5, 2e-5)
    assert grid.recipe.max_steps == 10


def test_every_fault_is_reported_at_its_line_with_a_suggestion(tmp_path: Path) -> None:
    text = GOOD.replace("2e-5]", "-2e-5]").replace(
        "max_steps: 010", "max_step: 10\n  batch_size: many"
    )
    found = faults(tmp_path, text)
    assert found == [
        "4: sweep.learning_rate.1: Input should be greater than 0 (it is -2e-05)",
        "7: recipe.max_step: no such key; did you mean 'max_steps'?",
        "8: recipe.batch_size: Input should be a valid integer, unable to parse string as an "
        "integer (it is 'many')",
    ]


def test_equal_points_written_twice_are_refused(tmp_path: Path) -> None:
    (found,) = faults(tmp_path, GOOD.replace("2e-5", "0.00001"))
    assert found.startswith("4: sweep.learning_rate: 1e-05 stands twice (items 1 and 2)")


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    assert faults(tmp_path, GOOD.replace("seeds: [0, 1]\n", "")) == ["1: seeds: is missing"]


def test_a_key_given_twice_is_named_with_its_line(tmp_path: Path) -> None:
    (found,) = faults(tmp_path, GOOD + "name: other\n")
    assert found == "8: name: given twice; keep one"


def test_broken_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    (found,) = faults(tmp_path, "name: small\ntasks: [sst2\nseeds: [0]\n")
    assert found.startswith(("2: is no valid YAML", "3: is no valid YAML"))


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("- a\n", "must be a mapping")])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load_yaml(write(tmp_path, text), GRID)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"gone\.yaml: no such file"):
        load_yaml(tmp_path / "gone.yaml", GRID)


def test_a_tag_that_would_build_an_object_runs_no_code(tmp_path: Path) -> None:
    marker = tmp_path / "made"
    text = GOOD.replace("name: small", f"name: !!python/object/apply:os.mkdir ['{marker}']")
    with pytest.raises(SpecError):
        load_yaml(write(tmp_path, text), GRID)
    assert not marker.exists()


def test_an_unknown_kind_lists_the_kinds(tmp_path: Path) -> None:
    card = "name: a\nkind: classification\ndata: {hub: {path: x/y}}\nmetrics: [accuracy]\n"
    (found,) = faults(tmp_path, card, TASK)
    assert found.startswith(("2: kind: ", "1: (file): "))
    assert "sequence_classification" in found


def test_a_fault_inside_a_union_names_the_key_of_the_file(tmp_path: Path) -> None:
    card = (
        "name: a\nkind: sequence_classification\ndata:\n  native:\n    format: glue_tsv\n"
        "    trian: a.tsv\n    test: b.tsv\ntext: [sentence]\nlabels: [no, yes]\n"
        "metrics: [accuracy]\n"
    )
    found = faults(tmp_path, card, TASK)
    assert (
        "5: data.native.train: is missing" in found or "4: data.native.train: is missing" in found
    )
    assert "6: data.native.trian: no such key; did you mean 'train'?" in found


def test_a_fault_of_several_keys_together_is_laid_on_what_holds_them(tmp_path: Path) -> None:
    card = "name: small\nkind: retrieval\nmetrics: [nDCG@10]\n"
    (whole,) = faults(tmp_path, f"{card}data: {{hub: {{path: x/y}}}}\npassage_overlap: 3\n", TASK)
    assert whole.startswith("1: (file): `passage_overlap` is given with")
    files = "data: {native: {format: jsonl, train: a, test: b, columns: [x]}}\nlabels: [a, b]\n"
    assert faults(tmp_path, card + files, TASK) == [
        "4: data.native: jsonl names its columns itself; leave `columns` out, or use `rename`",
        "5: labels: no such key here; it belongs to another kind or place",
    ]


def test_a_card_written_as_yaml_is_read_again(tmp_path: Path) -> None:
    for card in load_tasks().values():
        path = tmp_path / f"{card.name}.yaml"
        path.write_text(to_yaml(card), encoding="utf-8")
        assert load_yaml(path, TASK) == card
