"""What may be given: folders, files that list some, and hub ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants

from harness.checkpoints import discover
from harness.errors import CheckpointError
from tests.checkpoints.files import write_checkpoint

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a hub cache with `lab/small` at `main`, and `other/small` at `step_2k`."""
    cache = tmp_path / "hub"
    for fill, (name, revision) in enumerate([("lab", "main"), ("other", "step_2k")], start=1):
        folder = cache / f"models--{name}--small"
        write_checkpoint(folder / "snapshots" / COMMIT, fill=fill)
        (folder / "refs").mkdir()
        (folder / "refs" / revision).write_text(COMMIT)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    return cache


def names(*roots: str | Path) -> list[str]:
    return [checkpoint.name for checkpoint in discover(roots).checkpoints]


def test_a_hub_id_is_called_by_its_name_and_revision(hub: Path) -> None:
    assert names("lab/small") == ["small"]
    assert names("other/small@step_2k") == ["small@step_2k"]
    (checkpoint,) = discover("other/small@step_2k").checkpoints
    assert checkpoint.columns == {"step": 2000}
    assert str(hub) in checkpoint.path


def test_a_revision_that_was_not_fetched_names_the_command_that_helps(hub: Path) -> None:
    with pytest.raises(CheckpointError, match=r"lab/small@step_9: .*harness fetch"):
        discover("lab/small@step_9")


def test_a_list_names_hub_ids_with_revisions_and_folders_from_where_it_lies(
    hub: Path, tmp_path: Path
) -> None:
    for step in (10, 9):
        write_checkpoint(tmp_path / "lists" / "local" / f"step{step}", fill=step)
    (tmp_path / "lists" / "all.txt").write_text(
        "# what we compare\nother/small@step_2k\n\nlocal  # two steps\nlab/small@main\n"
    )
    assert names(tmp_path / "lists" / "all.txt") == [
        "small@step_2k",
        "step9",
        "step10",
        "small@main",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", r"list.txt: lists no checkpoint"),
        ("\nhere\nnobody/none@v1\n", r"list.txt:3: nobody/none@v1: no such folder"),
        ("list.txt\n", r"list.txt:1: list.txt: is a file"),
        ("a b c\n", r"list.txt:1: a b c: no such folder"),
    ],
)
def test_a_fault_in_a_list_has_its_line(tmp_path: Path, text: str, message: str) -> None:
    write_checkpoint(tmp_path / "here")
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(CheckpointError, match=message):
        discover(tmp_path / "list.txt")


def test_a_file_that_is_no_text_is_no_list(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CheckpointError, match="can't be read as a list"):
        discover(tmp_path / "model.safetensors")


def test_two_roots_with_equal_last_names_stay_apart(tmp_path: Path) -> None:
    one = write_checkpoint(tmp_path / "one" / "small", fill=1)
    two = write_checkpoint(tmp_path / "two" / "small", fill=2)
    assert names(one, two) == ["one--small", "two--small"]
    assert names(f"{one}/") == ["small"]


def test_a_folder_that_two_roots_reach_counts_once(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "small")
    found = discover([folder, tmp_path, folder])
    assert [checkpoint.name for checkpoint in found.checkpoints] == ["small"]
    assert found.skipped == ()


def test_a_copy_below_another_root_is_reported(tmp_path: Path) -> None:
    one, two = write_checkpoint(tmp_path / "one" / "a"), write_checkpoint(tmp_path / "two" / "b")
    found = discover([one.parent, two.parent])
    assert [checkpoint.name for checkpoint in found.checkpoints] == ["a"]
    assert [(skipped.name, skipped.path) for skipped in found.skipped] == [("b", two)]


def test_a_checkpoint_that_is_named_itself_is_alone_and_says_what_lies_inside(
    tmp_path: Path,
) -> None:
    run = write_checkpoint(tmp_path / "run", fill=1)
    step = write_checkpoint(run / "checkpoint-5", fill=2)
    found = discover(run)
    assert [checkpoint.name for checkpoint in found.checkpoints] == ["run"]
    assert [skipped.path for skipped in found.skipped] == [step]
    assert "give it too" in found.skipped[0].reason
    assert names(run, step) == ["run", "checkpoint-5"]
    assert names(tmp_path) == ["run", "checkpoint-5"]


def test_a_root_of_which_nothing_can_be_used_is_an_error_beside_good_ones(tmp_path: Path) -> None:
    good = write_checkpoint(tmp_path / "good" / "small")
    (write_checkpoint(tmp_path / "bad" / "half", fill=1) / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"bad: none of its checkpoints can be used"):
        discover([good, tmp_path / "bad"])
