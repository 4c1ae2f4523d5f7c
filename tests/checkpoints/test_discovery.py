"""What is found below a folder, in which order, under which names."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.checkpoints import discover
from harness.errors import CheckpointError
from tests.checkpoints.files import write_checkpoint


def test_a_folder_with_a_config_is_one_checkpoint(tmp_path: Path) -> None:
    found = discover(write_checkpoint(tmp_path / "small"))
    (checkpoint,) = found.checkpoints
    assert checkpoint.name == "small"
    assert checkpoint.path == str(tmp_path / "small")
    assert checkpoint.parameters == 6
    assert found.skipped == ()


def test_the_name_is_the_folders_own_even_if_given_as_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_checkpoint(tmp_path / "small"))
    (checkpoint,) = discover(".").checkpoints
    assert checkpoint.name == "small"
    assert Path(checkpoint.path).is_absolute()


def test_step_9_comes_before_step_10(tmp_path: Path) -> None:
    for step in (10, 9, 1000, 200):
        write_checkpoint(tmp_path / f"step{step}", fill=step % 251)
    names = [checkpoint.name for checkpoint in discover(tmp_path).checkpoints]
    assert names == ["step9", "step10", "step200", "step1000"]


def test_steps_of_several_runs_are_called_by_their_run_too(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "mlm" / "step1", fill=1)
    write_checkpoint(tmp_path / "clm" / "step1", fill=2)
    write_checkpoint(tmp_path / "clm" / "step2", fill=3)
    names = [checkpoint.name for checkpoint in discover(tmp_path).checkpoints]
    assert names == ["clm--step1", "clm--step2", "mlm--step1"]


def test_linked_folders_are_followed_and_loops_are_not(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "elsewhere" / "real")
    root = tmp_path / "root"
    root.mkdir()
    (root / "linked").symlink_to(tmp_path / "elsewhere" / "real")
    (root / "loop").symlink_to(root)
    assert [checkpoint.name for checkpoint in discover(root).checkpoints] == ["linked"]


def test_steps_inside_a_checkpoint_count_and_parts_of_other_tools_do_not(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "final", fill=1)
    write_checkpoint(tmp_path / "final" / "step5", fill=2)
    (tmp_path / "final" / "1_Pooling").mkdir()
    (tmp_path / "final" / "1_Pooling" / "config.json").write_text('{"pooling": "mean"}')
    found = discover(tmp_path)
    assert [checkpoint.name for checkpoint in found.checkpoints] == ["final", "step5"]
    assert found.skipped == ()


def test_a_copy_is_skipped_because_its_runs_would_be_the_same(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "step1")
    write_checkpoint(tmp_path / "step2")
    found = discover(tmp_path)
    assert [checkpoint.name for checkpoint in found.checkpoints] == ["step1"]
    assert found.skipped[0].path == tmp_path / "step2"
    assert "same content as 'step1'" in found.skipped[0].reason


def test_a_missing_folder_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(CheckpointError, match=r"no such folder; did you mean .*/checkpoints\?"):
        discover(tmp_path / "chekpoints")


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint here or below"):
        discover(tmp_path)


def test_if_none_can_be_used_every_reason_is_given(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "a") / "config.json").unlink()
    (write_checkpoint(tmp_path / "b") / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError) as caught:
        discover(tmp_path)
    assert "a: no config.json" in str(caught.value)
    assert "b: no tokenizer" in str(caught.value)


def test_a_single_broken_checkpoint_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "small") / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match="small: can't be used: no tokenizer"):
        discover(tmp_path / "small")


def test_the_hub_out_of_reach_names_the_command_that_helps() -> None:
    with pytest.raises(CheckpointError, match=r"nobody/nothing@v1: .*harness fetch"):
        discover("nobody/nothing@v1")
