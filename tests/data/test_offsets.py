"""Tokenizers whose offsets are wrong are refused by name, the others are let through."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from harness.data.encode.answers import encode_questions
from harness.data.offsets import check_offsets, measure_offsets
from harness.errors import CheckpointError
from tests.data.conftest import save_tokenizer, train_byte_level
from tests.data.encode.test_answers import answer_task, frame, read_answers


def dropping_tokenizer(folder: Path, dropped: str) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that takes some characters out of a text before it reads it."""
    tokenizer = train_byte_level(prefix_space=False)
    tokenizer.normalizer = normalizers.Replace(Regex(dropped), "")
    return save_tokenizer(folder, tokenizer, eos_token="</s>", model_input_names=["input_ids"])


def character_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """A vocabulary of ASCII characters without a token for others: the library shifts its offsets.

    It adds up the lengths of the tokens of a word, and a character that is dropped has none.
    """
    characters = [chr(code) for code in range(33, 127)]
    tokenizer = Tokenizer(models.BPE({c: n for n, c in enumerate(["</s>", *characters])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return save_tokenizer(folder, tokenizer, eos_token="</s>", model_input_names=["input_ids"])


def test_usual_tokenizers_cover_accents_other_scripts_and_odd_spaces(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    found = measure_offsets(tokenizer)
    assert found.characters > 200
    assert (found.uncovered, found.misplaced, found.first_fault) == (0, 0, None)


def test_a_tokenizer_that_drops_ascii_is_refused_by_name(tmp_path: Path) -> None:
    message = r"/no_brackets: the offsets of its tokenizer are wrong: 1 .*'\)' at 49 is in no token"
    with pytest.raises(CheckpointError, match=message):
        check_offsets(dropping_tokenizer(tmp_path / "no_brackets", "[()]"))


def test_shifted_offsets_are_seen_and_refused(tmp_path: Path) -> None:
    tokenizer = character_tokenizer(tmp_path / "shifted")
    assert measure_offsets(tokenizer, ["a cafe"]).misplaced == 0
    found = measure_offsets(tokenizer, ["caféteria"])
    assert found.misplaced > 0
    assert found.first_fault == "'r' stands where the text has 't'"
    examples = frame(["Émile"], "Émile said so", "who?")
    with pytest.raises(CheckpointError, match=r"/shifted: .* are misplaced"):
        encode_questions(answer_task(), examples, tokenizer, 512)


def test_characters_that_a_tokenizer_drops_stay_in_answers(tmp_path: Path) -> None:
    tokenizer = dropping_tokenizer(tmp_path, "[^\\x00-\\x7f]")
    assert measure_offsets(tokenizer).uncovered > 40
    spans = ["café", "in Łódź: 日本", "née"]
    examples = frame(spans, "née in Łódź: 日本, café é", "where?")
    encoded = encode_questions(answer_task(), examples, tokenizer, 512)
    assert read_answers(encoded, examples) == list(enumerate(spans))
    assert encoded.counts["inexact"] == 0


def test_answers_inside_a_token_are_counted(byte_level: PreTrainedTokenizerFast) -> None:
    context = "Who gave their name to Normandy?"
    examples = frame(["Norm", "Normandy", "name"], context, "who?")
    encoded = encode_questions(answer_task(), examples, byte_level, 512)
    assert [text for _, text in read_answers(encoded, examples)] == ["Normandy", "Normandy", "name"]
    assert encoded.counts["inexact"] == 1
