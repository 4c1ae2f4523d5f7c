from __future__ import annotations

import pytest
from transformers import GPT2Config, RobertaConfig

from harness.errors import CheckpointError
from harness.models.backbone import load_backbone
from harness.models.probe import probe
from tests.models.tiny import bert_config, llama_config, save_checkpoint


def sees_future(folder, config, **more) -> bool:
    return probe(load_backbone(save_checkpoint(folder, config, **more)))


def test_an_encoder_sees_both_ways(tmp_path):
    assert sees_future(tmp_path, bert_config())
    assert sees_future(tmp_path, bert_config(), attention="bidirectional")


def test_a_decoder_sees_the_past_only(tmp_path):
    assert not sees_future(tmp_path, llama_config())
    assert not sees_future(tmp_path, llama_config(), attention="causal")


def test_a_decoder_turned_bidirectional_sees_both_ways(tmp_path):
    assert sees_future(tmp_path, llama_config(), attention="bidirectional")


def test_another_decoder_can_be_turned_too(tmp_path):
    config = GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=60, bos_token_id=1, eos_token_id=2
    )
    assert not sees_future(tmp_path / "a", config)
    assert sees_future(tmp_path / "b", config, attention="bidirectional")


def test_an_encoder_whose_positions_come_from_its_pad_id_is_probed_right(tmp_path):
    config = RobertaConfig(
        vocab_size=60,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
    )
    assert sees_future(tmp_path, config)


def test_an_encoder_that_is_causal_without_padding_only_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"with padding only. bert can't be turned that way"):
        sees_future(tmp_path, bert_config(), attention="causal")
