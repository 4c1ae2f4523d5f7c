"""How a checkpoint is read where nothing is said: attention and pooling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.checkpoints import default_pooling, discover
from tests.checkpoints.files import BERT, LLAMA, write_checkpoint


def test_an_encoder_is_pooled_by_mean_and_a_decoder_by_its_last_token(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "decoder", LLAMA)
    write_checkpoint(tmp_path / "encoder", BERT)
    decoder, encoder = discover(tmp_path).checkpoints
    assert (decoder.attention, decoder.pooling) == ("native", "last")
    assert (encoder.attention, encoder.pooling) == ("native", "mean")


def test_a_decoder_that_looks_both_ways_is_pooled_by_mean(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "decoder", LLAMA)
    (checkpoint,) = discover(folder, attention="bidirectional").checkpoints
    assert (checkpoint.attention, checkpoint.pooling) == ("bidirectional", "mean")


def test_what_is_asked_for_is_taken(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "decoder", LLAMA)
    (checkpoint,) = discover(folder, attention="causal", pooling="first").checkpoints
    assert (checkpoint.attention, checkpoint.pooling) == ("causal", "first")


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}, "last"),
        ({"model_type": "qwen3"}, "last"),
        ({"model_type": "gemma3_text"}, "last"),
        ({"model_type": "gpt_neox"}, "last"),
        ({"model_type": "bert", "is_decoder": True}, "last"),
        ({"model_type": "somebodys_own", "architectures": ["OwnForCausalLM"]}, "last"),
        ({"model_type": "llama", "is_causal": False}, "mean"),
        ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, "mean"),
        ({"model_type": "xlm", "architectures": ["XLMWithLMHeadModel"]}, "mean"),
        ({"model_type": "modernbert"}, "mean"),
        ({"model_type": "eurobert"}, "mean"),
    ],
)
def test_the_config_tells_who_reads_left_to_right(config: dict[str, Any], pooling: str) -> None:
    assert default_pooling(config, "native") == pooling


def test_causal_attention_asks_for_the_last_token_of_any_model() -> None:
    assert default_pooling(BERT, "causal") == "last"
