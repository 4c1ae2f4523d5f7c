"""What each architecture makes of tokens: direction, padding, pooling, lengths, token types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from harness.data.encode import Encoded
from harness.data.encode.layout import text_layout
from harness.data.lengths import checkpoint_limit, effective_max_length
from harness.data.tokenizers import load_tokenizer
from harness.errors import CheckpointError
from harness.models.backbone import Backbone, autocast, load_backbone
from harness.models.batch import collate
from harness.models.pooling import pool
from harness.models.probe import probe
from harness.spec import Checkpoint, Precision
from tests.architectures.zoo import ZOO
from tests.small_world import SmallWorld

Make = Callable[..., Checkpoint]
DECODERS = sorted(name for name, species in ZOO.items() if not species.sees_future)
ENCODERS = sorted(set(ZOO) - set(DECODERS))
IMPLEMENTATIONS = ("sdpa", "eager")


def texts(backbone: Backbone, lengths: list[int]) -> Encoded:
    """Random token ids, none of them the padding's or another special one."""
    rng = np.random.default_rng(0)
    ids = rng.integers(10, backbone.config.vocab_size, sum(lengths)).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    types = (np.arange(len(ids)) % 2).astype(np.uint8)
    return Encoded(ids, starts, np.arange(len(lengths)), types, {}, {})


def use(backbone: Backbone, implementation: str) -> None:
    """Compute attention otherwise, where the architecture can."""
    if implementation == "sdpa" and not backbone.module._supports_sdpa:
        pytest.skip("the architecture has no scaled_dot_product_attention")
    backbone.module.set_attn_implementation(implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_probe_finds_the_direction_that_each_architecture_has(
    zoo: Make, name: str, implementation: str
) -> None:
    backbone = load_backbone(zoo(name))
    use(backbone, implementation)
    assert probe(backbone) is ZOO[name].sees_future


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_all_can_see_both_ways(zoo: Make, name: str, implementation: str) -> None:
    backbone = load_backbone(zoo(name, attention="bidirectional"))
    use(backbone, implementation)
    assert probe(backbone) is True


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_stays_causal_when_that_is_asked(zoo: Make, name: str) -> None:
    assert probe(load_backbone(zoo(name, attention="causal"))) is False


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_can_not_be_made_causal_and_says_so(zoo: Make, name: str) -> None:
    with pytest.raises(CheckpointError, match=f"{name} can't be turned that way"):
        probe(load_backbone(zoo(name, attention="causal")))


@pytest.mark.parametrize("attention", ["native", "bidirectional"])
def test_both_ways_to_compute_attention_agree(zoo: Make, name: str, attention: str) -> None:
    backbone = load_backbone(zoo(name, attention=attention))
    batch = collate(texts(backbone, [9, 4, 1]), np.arange(3), backbone.layout("cpu"))
    states = []
    for implementation in IMPLEMENTATIONS:
        use(backbone, implementation)
        with torch.no_grad():
            states.append(backbone.hidden(batch))
    assert batch.mask_BL is not None
    real = batch.mask_BL
    torch.testing.assert_close(states[0][real], states[1][real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ["native", "bidirectional"])
@pytest.mark.parametrize(
    ("device", "precision", "tolerance"),
    [
        pytest.param("cpu", "fp32", 1e-5),
        pytest.param("cuda", "bf16", 3e-2, marks=pytest.mark.gpu),
    ],
)
def test_the_flash_kernel_gives_what_plain_arithmetic_gives(
    zoo: Make, name: str, attention: str, device: str, precision: Precision, tolerance: float
) -> None:
    backbone = load_backbone(zoo(name, attention=attention))
    use(backbone, "sdpa")
    if name == "t5":
        pytest.skip("a bias on positions is added to its scores, which the flash kernel can't")
    if device == "cuda" and name in {"modernbert", "gemma3_text"}:
        pytest.skip("a sliding window is a mask, which CUDA's flash kernel does not take")
    backbone.module.to(device)
    # Without padding: with a mask CUDA's flash kernel is not chosen.
    batch = collate(texts(backbone, [9, 9]), np.arange(2), backbone.layout(device))
    states = []
    for kernel in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        with torch.no_grad(), sdpa_kernel(kernel), autocast(precision, device):
            states.append(backbone.hidden(batch).float())
    torch.testing.assert_close(states[0], states[1], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
@pytest.mark.parametrize("attention", ["native", "bidirectional"])
def test_a_text_is_pooled_alike_alone_and_in_a_padded_batch(
    zoo: Make, name: str, attention: str, pooling: str
) -> None:
    backbone = load_backbone(zoo(name, attention=attention, pooling=pooling))
    encoded = texts(backbone, [3, 17, 1, 9, 17])
    layout = backbone.layout("cpu")
    with torch.no_grad():
        together = collate(encoded, np.arange(5), layout)
        pooled = pool(backbone.hidden(together), together)
        for row in range(5):
            alone = collate(encoded, np.array([row]), layout)
            vector = pool(backbone.hidden(alone), alone)
            torch.testing.assert_close(pooled[row], vector[0], atol=1e-5, rtol=0)


def test_hidden_states_are_as_wide_as_a_head_expects(zoo: Make, name: str) -> None:
    backbone = load_backbone(zoo(name))
    batch = collate(texts(backbone, [4]), np.array([0]), backbone.layout("cpu"))
    with torch.no_grad():
        assert backbone.hidden(batch).shape[-1] == backbone.hidden_size


def test_token_types_are_given_where_the_architecture_has_them(zoo: Make, name: str) -> None:
    backbone = load_backbone(zoo(name))
    assert backbone.has_type_ids is ZOO[name].has_type_ids
    batch = collate(texts(backbone, [4]), np.array([0]), backbone.layout("cpu"))
    assert (batch.type_ids_BL is not None) is ZOO[name].has_type_ids


def test_an_input_may_be_as_long_as_positions_reach_and_not_longer(
    zoo: Make, name: str, world: SmallWorld
) -> None:
    checkpoint = zoo(name)
    backbone, tokenizer = load_backbone(checkpoint), load_tokenizer(checkpoint.path)
    card = world.tasks["toy_sentiment"].model_copy(update={"max_length": None})
    limit = effective_max_length(card, tokenizer, backbone.config)
    assert limit == ZOO[name].limit
    known = checkpoint_limit(tokenizer, backbone.config)
    assert known == (None if name == "t5" else limit)  # relative positions have no end
    batch = collate(texts(backbone, [limit, 2]), np.arange(2), backbone.layout("cpu"))
    with torch.no_grad():
        assert backbone.hidden(batch).isfinite().all()


def test_the_tokens_around_a_text_are_those_of_the_family_and_an_end_token(
    zoo: Make, name: str
) -> None:
    tokenizer = load_tokenizer(zoo(name).path)
    fixed = [tokenizer.convert_ids_to_tokens(ids.tolist()) for ids in text_layout(tokenizer).fixed]
    wanted = {
        "bert": [["[CLS]"], ["[SEP]"]],
        "deberta-v2": [["[CLS]"], ["[SEP]"]],
        "electra": [["[CLS]"], ["[SEP]"]],
        "modernbert": [["[CLS]"], ["[SEP]"]],
        "roberta": [["<s>"], ["</s>"]],
        "eurobert": [["<|begin|>"], ["<|end|>"]],
        "t5": [[], ["</s>"]],
        "gpt2": [[], ["<|endoftext|>"]],
        "llama": [["<s>"], ["</s>"]],
        "qwen3": [[], ["<|im_end|>"]],
        "gemma3_text": [["<bos>"], ["<eos>"]],
        "opt": [["</s>"], ["</s>"]],
    }
    assert fixed == wanted[name]


def test_a_control_has_the_same_shapes_and_other_weights_always_the_same(
    zoo: Make, name: str
) -> None:
    trained = load_backbone(zoo(name)).state
    random = zoo(name).model_copy(update={"weights": "random"})
    global_state = torch.random.get_rng_state()
    one, two = load_backbone(random), load_backbone(random)
    assert torch.equal(torch.random.get_rng_state(), global_state)
    assert not one.module.training
    assert {key: value.shape for key, value in one.state.items()} == {
        key: value.shape for key, value in trained.items()
    }
    assert all(torch.equal(one.state[key], two.state[key]) for key in one.state)
    assert any(not torch.equal(one.state[key], trained[key]) for key in trained)
    assert {parameter.dtype for parameter in one.module.parameters()} == {torch.float32}
