"""Tokenizers of checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import (
    bare_tokenizer,
    load_config,
    load_tokenizer,
    tokenizer_fingerprint,
)
from harness.errors import CheckpointError
from tests.data.conftest import save_tokenizer, train_byte_level


def test_the_end_token_pads_where_there_is_no_pad_token(
    byte_level: PreTrainedTokenizerFast,
) -> None:
    assert byte_level.pad_token_id == byte_level.eos_token_id == 2


def test_folders_without_a_usable_tokenizer_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such folder"):
        load_tokenizer(tmp_path / "none")
    with pytest.raises(CheckpointError, match="its tokenizer can't be loaded"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"})
    )
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "model":')
    with pytest.raises(CheckpointError, match="its tokenizer can't be loaded"):
        load_tokenizer(tmp_path)
    with pytest.raises(CheckpointError, match="neither a pad token nor an end token"):
        save_tokenizer(tmp_path / "endless", Tokenizer(models.BPE()))


def test_a_folder_without_a_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="its config can't be loaded"):
        load_config(tmp_path)


def test_a_slow_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "CanineTokenizer"})
    )
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "canine"}))
    with pytest.raises(CheckpointError, match=r"only a slow tokenizer \(CanineTokenizer\)"):
        load_tokenizer(tmp_path)


def test_the_fingerprint_is_of_the_content_and_outlives_calls(tmp_path: Path) -> None:
    names = {"eos_token": "</s>", "model_input_names": ["input_ids"]}
    one = save_tokenizer(tmp_path / "a", train_byte_level(prefix_space=False), **names)
    same = save_tokenizer(tmp_path / "b", train_byte_level(prefix_space=False), **names)
    other = save_tokenizer(tmp_path / "c", train_byte_level(prefix_space=True), **names)
    before = tokenizer_fingerprint(one)
    one(["a", "a b c"], truncation=True, max_length=2, padding=True)
    assert tokenizer_fingerprint(one) == before == tokenizer_fingerprint(same)
    assert tokenizer_fingerprint(other) != before


def test_a_bare_tokenizer_adds_and_cuts_nothing(roberta_like: PreTrainedTokenizerFast) -> None:
    roberta_like("a b c", truncation=True, max_length=3)
    bare = bare_tokenizer(roberta_like)
    text = "bears in 2005"
    assert bare.decode(bare.encode(text).ids) == " bears in  2 0 0 5"
    assert roberta_like("", add_special_tokens=True)["input_ids"] == [0, 2]
