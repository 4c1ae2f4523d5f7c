"""One tree with every case, and the exact listing that it must give."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from harness.cli import main
from tests.checkpoints.files import LLAMA, write_checkpoint, write_sharded

LISTING = Path(__file__).with_name("tree_listing.txt")
BESIDE = """\
610m-clm-42k: {family: llama}
clm-both-ways: {folder: 610m-clm-42k, attention: bidirectional, family: llama}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "ckpts"
    write_checkpoint(root / "610m-clm-42k", LLAMA, fill=1)
    shutil.copytree(root / "610m-clm-42k", root / "610m-clm-42k-copy")
    write_checkpoint(root / "1b-clm-42k", LLAMA, fill=2)
    write_checkpoint(root / "610m-mlm40-42k", fill=3)
    write_checkpoint(root / "610m-mlm40-42k-1000", fill=4)
    write_sharded(root / "big")
    for fill, name in enumerate(("checkpoint-9", "checkpoint-1000", "checkpoint-1500"), start=5):
        (write_checkpoint(root / "run-a" / name, fill=fill) / "tokenizer.json").unlink()
    (root / "run-a" / "tokenizer.json").write_text('{"version": "1.0", "of": "run-a"}')
    half = root / "run-a" / "checkpoint-1500" / "model.safetensors"
    half.write_bytes(half.read_bytes()[:-1])
    (root / "run-a" / "checkpoint-2000").mkdir()
    (root / "run-a" / "checkpoint-2000" / "optimizer.pt").write_bytes(b"x")
    write_checkpoint(root / "run-a" / "tmp-checkpoint-2500", fill=8)
    steps = ("step_42k", "step_500", "global_step1000", "epoch=3-step=500", "checkpoint-9")
    for fill, name in enumerate(steps, start=10):
        write_checkpoint(root / "run-b" / name, fill=fill)
    write_broken(root / "broken")
    (root / "checkpoints.yaml").write_text(BESIDE)
    (root / "logs").mkdir()
    (root / "logs" / "events.txt").write_text("nothing that looks like a checkpoint")
    return root


def write_broken(folder: Path) -> None:
    adapter = write_checkpoint(folder / "adapter")
    (adapter / "model.safetensors").rename(adapter / "adapter_model.safetensors")
    (adapter / "adapter_config.json").write_text("{}")
    write_checkpoint(folder / "bart", {"model_type": "bart", "is_encoder_decoder": True}, fill=20)
    download = write_checkpoint(folder / "download") / "model.safetensors"
    download.rename(download.with_name("model.safetensors.incomplete"))
    (write_sharded(folder / "lost-index") / "model.safetensors.index.json").unlink()
    (write_sharded(folder / "lost-shard") / "model-00002-of-00002.safetensors").unlink()
    (folder / "megatron").mkdir()
    (folder / "megatron" / "mp_rank_00_model_states.pt").write_bytes(b"x")
    pickle = write_checkpoint(folder / "pickle") / "model.safetensors"
    pickle.rename(pickle.with_name("pytorch_model.bin"))
    parts = {"model_type": "gemma3", "text_config": {}, "vision_config": {}}
    write_checkpoint(folder / "two-models", parts, fill=21)
    (write_checkpoint(folder / "wordless", fill=22) / "tokenizer.json").unlink()


def listing(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> list[str]:
    """Call `harness checkpoints`, give its lines."""
    monkeypatch.setattr(sys, "argv", ["harness", "checkpoints", str(root), *more])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code in {0, None}
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_listing_of_the_tree_is_exactly_this(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = listing(tree, monkeypatch, capsys)
    shown = [line.replace(str(tree), "ROOT") for line in lines]
    assert shown == LISTING.read_text(encoding="utf-8").splitlines()


def test_a_part_of_the_tree_gives_the_same_checkpoints(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = listing(tree / "610m-clm-42k", monkeypatch, capsys)
    assert [line.split()[0] for line in part[1:]] == ["610m-clm-42k", "clm-both-ways"]
    whole = {line.split()[-1] for line in listing(tree, monkeypatch, capsys)[1:]}
    assert {line.split()[-1] for line in part[1:]} < whole


def test_a_tokenizer_that_is_given_serves_those_without_one(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = listing(tree, monkeypatch, capsys, "--tokenizer", str(tree / "big"))
    said = {line.split(":")[0] for line in lines if "tokenizer is that of" in line}
    assert said == {"run-a--checkpoint-9", "run-a--checkpoint-1000", "wordless"}
    assert sum(line.endswith(f"is that of {tree / 'big'}") for line in lines) == 3
