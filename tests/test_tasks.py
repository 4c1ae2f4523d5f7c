from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.shipped import shipped_folder
from harness.tasks import find_task, load_task_file, load_tasks

CARD = """\
name: {name}
kind: sequence_classification
description: {description}
data:
  native: {{format: glue_tsv, train: train.tsv, test: dev.tsv}}
text: [sentence]
labels: [negative, positive]
metrics: [accuracy]
"""


def write_card(path: Path, name: str | None = None, description: str = "mine") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CARD.format(name=name or path.stem, description=description))
    return path


def test_a_card_is_read_as_the_class_of_its_kind(tmp_path: Path) -> None:
    task = load_task_file(write_card(tmp_path / "mood.yaml"))
    assert task.name == "mood"
    assert task.kind == "sequence_classification"
    assert task.labels == ("negative", "positive")


def test_a_card_must_be_called_as_its_file(tmp_path: Path) -> None:
    path = write_card(tmp_path / "mood.yaml", name="temper")
    with pytest.raises(SpecError, match=r"mood\.yaml: name: 'temper' must be .* 'mood'"):
        load_task_file(path)


def test_a_card_that_no_folder_would_show_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"mood\.yml: a card's file ends in \.yaml"):
        load_task_file(write_card(tmp_path / "mood.yml"))


def test_cards_are_found_in_sub_folders_and_sorted_by_name(tmp_path: Path) -> None:
    write_card(tmp_path / "b" / "zz_mood.yaml")
    write_card(tmp_path / "aa_mood.yaml")
    names = list(load_tasks([tmp_path]))
    assert names == sorted(names)
    assert {"aa_mood", "zz_mood"} <= set(names)


def test_the_users_card_wins_over_a_shipped_one_of_the_same_name(tmp_path: Path) -> None:
    assert load_tasks()["toy_sentiment"].description != "mine"
    write_card(tmp_path / "toy_sentiment.yaml")
    assert load_tasks([tmp_path])["toy_sentiment"].description == "mine"


def test_of_two_folders_of_the_user_the_later_wins(tmp_path: Path) -> None:
    write_card(tmp_path / "one" / "mood.yaml", description="first")
    write_card(tmp_path / "two" / "mood.yaml", description="second")
    assert load_tasks([tmp_path / "one", tmp_path / "two"])["mood"].description == "second"


def test_two_cards_of_one_name_in_one_folder_are_refused(tmp_path: Path) -> None:
    write_card(tmp_path / "a" / "mood.yaml")
    write_card(tmp_path / "b" / "mood.yaml")
    with pytest.raises(SpecError, match=r"b/mood\.yaml: name: 'mood' is also the name of .*a/mood"):
        load_tasks([tmp_path])


def test_the_faults_of_all_cards_come_together(tmp_path: Path) -> None:
    write_card(tmp_path / "one.yaml", name="other")
    write_card(tmp_path / "two.yaml").write_text("name: two\nkind: sequence_classification\n")
    with pytest.raises(SpecError) as caught:
        load_tasks([tmp_path])
    assert "one.yaml: name" in str(caught.value)
    assert "two.yaml" in str(caught.value)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="nowhere: no such folder of task cards"):
        load_tasks([tmp_path / "nowhere"])


def test_an_unknown_task_is_met_with_the_nearest_name() -> None:
    with pytest.raises(
        SpecError, match=r"'toy_sentimant': no such task; did you mean 'toy_sentiment'"
    ):
        find_task("toy_sentimant", load_tasks())
    with pytest.raises(SpecError, match="harness tasks list"):
        find_task("qqqqqqqq", load_tasks())


def test_the_shipped_folders_exist_here() -> None:
    assert (shipped_folder("tasks") / "toy" / "toy_sentiment.yaml").is_file()
    assert (shipped_folder("grids") / "demo.yaml").is_file()
