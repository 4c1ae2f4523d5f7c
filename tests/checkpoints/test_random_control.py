"""The control: the same config and tokenizer, weights drawn at random."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.checkpoints import discover
from harness.errors import CheckpointError
from tests.checkpoints.files import BERT, LLAMA, write_checkpoint


def test_every_distinct_config_gets_one_control(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "610m-clm-42k", LLAMA, fill=1)
    write_checkpoint(tmp_path / "610m-mlm40-42k", BERT, fill=2)
    write_checkpoint(tmp_path / "610m-mlm40-42k-1000", BERT, fill=3)
    found = discover(tmp_path, random_init=True).checkpoints
    assert [c.name for c in found] == [
        "610m-clm-42k",
        "610m-mlm40-42k",
        "610m-mlm40-42k-1000",
        "610m-clm-42k@random",
        "610m-mlm40-42k@random",
    ]
    assert [c.weights for c in found] == [None, None, None, "random", "random"]
    assert found[-1].columns == {"size": "610m", "objective": "random"}
    assert found[-2].pooling == "last"
    assert len({c.fingerprint for c in found}) == 5


def test_its_fingerprint_is_of_config_and_tokenizer_alone_and_is_pinned(tmp_path: Path) -> None:
    def control(name: str, config: dict[str, object], fill: int) -> str:
        folder = write_checkpoint(tmp_path / name, config, fill)
        return discover(folder, random_init=True).checkpoints[1].fingerprint

    first = control("a", BERT, 1)
    assert first == "38c2d38058d9dea1"
    stored_otherwise = BERT | {"dtype": "bfloat16", "architectures": ["BertModel"]}
    assert control("b", stored_otherwise, 2) == first
    assert control("c", BERT | {"hidden_size": 4}, 1) != first
    folder = write_checkpoint(tmp_path / "d")
    (folder / "tokenizer.json").write_text('{"version": "2.0"}')
    assert discover(folder, random_init=True).checkpoints[1].fingerprint != first


def test_rows_that_read_a_config_otherwise_have_controls_of_their_own(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "clm", LLAMA)
    (tmp_path / "checkpoints.yaml").write_text("both: {folder: clm, attention: bidirectional}")
    found = discover(tmp_path, random_init=True).checkpoints
    assert [(c.name, c.attention) for c in found[2:]] == [
        ("clm@random", "native"),
        ("both@random", "bidirectional"),
    ]


def test_a_tokenizer_from_elsewhere_counts_as_if_it_lay_in_the_folder(tmp_path: Path) -> None:
    whole = write_checkpoint(tmp_path / "whole" / "checkpoint-5", fill=1)
    bare = write_checkpoint(tmp_path / "run" / "checkpoint-5", fill=1)
    (bare / "tokenizer.json").rename(bare.parent / "tokenizer.json")
    wanted = discover(whole).checkpoints[0]
    parents = discover(bare).checkpoints[0]
    assert parents.fingerprint == wanted.fingerprint
    assert (parents.tokenizer, wanted.tokenizer) == (str(bare.parent), None)
    other = write_checkpoint(tmp_path / "other")
    (other / "tokenizer.json").write_text(json.dumps({"version": "2.0"}))
    given = discover(bare, tokenizer=other).checkpoints[0]
    assert given.tokenizer == str(other)
    assert given.fingerprint != wanted.fingerprint
    with pytest.raises(CheckpointError, match=r"--tokenizer .*nowhere: no such folder"):
        discover(bare, tokenizer=tmp_path / "nowhere")
