"""How many tokens an input may have."""

from __future__ import annotations

from transformers import (
    BertConfig,
    BloomConfig,
    GPT2Config,
    LlamaConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from harness.data.lengths import effective_max_length
from tests.data.conftest import make_task

TASK = make_task("sequence_classification")
SHORT = make_task("sequence_classification", max_length=128)
LONG = make_task("sequence_classification", max_length=4096)


def test_the_card_is_capped_by_the_position_table(byte_level: PreTrainedTokenizerFast) -> None:
    config = LlamaConfig(max_position_embeddings=2048)
    assert effective_max_length(TASK, byte_level, config) == 2048
    assert effective_max_length(SHORT, byte_level, config) == 128
    assert effective_max_length(LONG, byte_level, config) == 2048
    assert effective_max_length(TASK, byte_level, GPT2Config(n_positions=1024)) == 1024


def test_the_tokenizers_own_limit_counts_where_it_is_smaller(
    wordpiece: PreTrainedTokenizerFast,
) -> None:
    assert wordpiece.model_max_length == 512
    assert effective_max_length(LONG, wordpiece, BertConfig(max_position_embeddings=1024)) == 512


def test_roberta_counts_positions_from_its_pad_id(roberta_like: PreTrainedTokenizerFast) -> None:
    config = RobertaConfig(max_position_embeddings=514, pad_token_id=1)
    assert effective_max_length(LONG, roberta_like, config) == 512


def test_without_any_limit_it_is_512_or_the_cards(byte_level: PreTrainedTokenizerFast) -> None:
    assert effective_max_length(TASK, byte_level, BloomConfig()) == 512
    assert effective_max_length(LONG, byte_level, BloomConfig()) == 4096
