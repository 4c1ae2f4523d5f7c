from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, BartConfig, BertForMaskedLM

from harness.errors import CheckpointError
from harness.models.backbone import autocast, cast_parameters, load_backbone
from harness.models.batch import collate
from harness.spec import Checkpoint
from tests.models.tiny import bert_config, encoded_texts, llama_config, save_checkpoint, tiny_bert


def test_weights_saved_in_bf16_become_fp32_masters(tmp_path):
    checkpoint = save_checkpoint(tmp_path, bert_config(dtype="bfloat16"))
    weights = load_file(tmp_path / "model.safetensors")
    save_file({k: v.bfloat16() for k, v in weights.items()}, tmp_path / "model.safetensors")
    backbone = load_backbone(checkpoint)
    assert {p.dtype for p in backbone.module.parameters()} == {torch.float32}


def test_reset_restores_every_weight_also_after_bf16(tmp_path):
    backbone = tiny_bert(tmp_path)
    before = {name: value.clone() for name, value in backbone.module.state_dict().items()}
    cast_parameters(backbone.module, torch.bfloat16)
    with torch.no_grad():
        for parameter in backbone.module.parameters():
            parameter.add_(1)
    backbone.reset()
    after = backbone.module.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_weights_of_a_language_model_head_are_no_part_of_the_body(tmp_path):
    torch.manual_seed(0)
    BertForMaskedLM(bert_config()).save_pretrained(tmp_path / "mlm")
    AutoModelForCausalLM.from_config(llama_config()).save_pretrained(tmp_path / "clm")
    for name in ("mlm", "clm"):
        backbone = load_backbone(
            Checkpoint(name=name, path=str(tmp_path / name), fingerprint="0" * 16)
        )
        assert backbone.hidden_size == 32
        assert not any("lm_head" in name or "cls" in name for name in backbone.state)


def test_a_missing_weight_is_named(tmp_path):
    checkpoint = save_checkpoint(tmp_path, bert_config())
    weights = load_file(tmp_path / "model.safetensors")
    weights.pop("encoder.layer.1.output.dense.bias")
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"missing: encoder.layer.1.output.dense.bias"):
        load_backbone(checkpoint)


def test_a_layer_too_many_is_named(tmp_path):
    checkpoint = save_checkpoint(tmp_path, llama_config(num_hidden_layers=3))
    llama_config(num_hidden_layers=2).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match=r"not part of .+: layers.2.+ and 4 more"):
        load_backbone(checkpoint)


def test_weights_of_another_shape_are_refused(tmp_path):
    checkpoint = save_checkpoint(tmp_path, bert_config())
    bert_config(intermediate_size=48).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="intermediate"):
        load_backbone(checkpoint)


def test_pickled_weights_are_refused(tmp_path):
    checkpoint = save_checkpoint(tmp_path, bert_config())
    weights = load_file(tmp_path / "model.safetensors")
    torch.save(weights, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="safetensors"):
        load_backbone(checkpoint)


def test_truncated_weights_are_refused(tmp_path):
    checkpoint = save_checkpoint(tmp_path, bert_config())
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match="can't be loaded"):
        load_backbone(checkpoint)


def test_an_encoder_decoder_is_refused(tmp_path):
    BartConfig(vocab_size=9).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="encoder-decoder"):
        load_backbone(Checkpoint(name="bart", path=str(tmp_path), fingerprint="0" * 16))


def test_a_missing_folder_is_an_error_of_the_user(tmp_path):
    with pytest.raises(CheckpointError, match="no such folder"):
        load_backbone(Checkpoint(name="x", path=str(tmp_path / "x"), fingerprint="0" * 16))


def test_one_dropout_rate_reaches_every_place_and_can_be_taken_back(tmp_path):
    backbone = tiny_bert(tmp_path, dropout=0.1)
    rates = [m.p for m in backbone.module.modules() if isinstance(m, torch.nn.Dropout)]
    assert set(rates) == {0.1}
    assert backbone.head_dropout == 0.1
    backbone.set_dropout(0.3)
    rates = [m.p for m in backbone.module.modules() if isinstance(m, torch.nn.Dropout)]
    assert set(rates) == {0.3}
    assert backbone.head_dropout == 0.3
    backbone.set_dropout(None)
    assert backbone.module.embeddings.dropout.p == 0.1


def test_a_decoder_keeps_its_dropout_as_a_number_and_it_is_found(tmp_path):
    backbone = load_backbone(save_checkpoint(tmp_path, llama_config()))
    backbone.set_dropout(0.2)
    assert backbone.module.layers[0].self_attn.attention_dropout == 0.2


def test_padding_does_not_change_the_hidden_states_of_tokens(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_texts([3, 7])
    layout = backbone.layout("cpu")
    with torch.no_grad():
        both = backbone.hidden(collate(encoded, np.array([0, 1]), layout))
        alone = backbone.hidden(collate(encoded, np.array([0]), layout))
    torch.testing.assert_close(both[0, :3], alone[0], atol=1e-5, rtol=0)


def test_autocast_computes_in_bf16_and_fp32_does_not(tmp_path):
    backbone = tiny_bert(tmp_path)
    batch = collate(encoded_texts([4]), np.array([0]), backbone.layout("cpu"))
    linear = torch.nn.Linear(32, 2)
    for precision, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        with torch.no_grad(), autocast(precision, "cpu"):
            assert linear(backbone.hidden(batch)).dtype == dtype
