from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from harness.models.batch import Batch, Layout, collate
from harness.models.heads import build_head
from harness.seeding import torch_generator
from tests.models.tiny import ANSWERS, CLASSES, NUMBER, RANKING, TAGS, encoded_texts


def head_of(task, seed=0):
    return build_head(task, 4, torch_generator(seed, "head"))


def batch_of(lengths: list[int], pooling="mean", **targets) -> Batch:
    encoded = encoded_texts(lengths, {name: np.array(value) for name, value in targets.items()})
    return collate(encoded, np.arange(len(lengths)), Layout(0, False, pooling))


def test_the_same_generator_gives_the_same_head_and_another_seed_another():
    assert torch.equal(head_of(CLASSES).linear.weight, head_of(CLASSES).linear.weight)
    assert not torch.equal(head_of(CLASSES).linear.weight, head_of(CLASSES, 1).linear.weight)


def test_building_a_head_leaves_the_global_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    head_of(CLASSES)
    assert torch.equal(before, torch.get_rng_state())


def test_weights_are_normal_and_biases_zero():
    head = build_head(TAGS, 4000, torch_generator(0, "head"), initializer_range=0.5)
    assert head.linear.weight.std().item() == pytest.approx(0.5, rel=0.05)
    assert head.linear.bias.tolist() == [0.0, 0.0, 0.0]


def test_cross_entropy_is_a_sum_with_its_number_of_terms():
    head = head_of(CLASSES)
    batch = batch_of([2, 2], label=[0, 1])
    loss, terms = head.loss(torch.zeros(2, 2), batch)
    assert (loss.item(), terms) == (pytest.approx(2 * math.log(2)), 2)


def test_squared_error_is_a_sum_with_its_number_of_terms():
    batch = batch_of([2, 2], label=np.array([1.0, 3.0], dtype=np.float32))
    loss, terms = head_of(NUMBER).loss(torch.tensor([1.5, 1.0]), batch)
    assert (loss.item(), terms) == (4.25, 2)


def test_only_tokens_that_begin_a_word_are_tagged():
    batch = batch_of([3, 1], word=[-1, 0, 1, 0], tag=[-100, 2, 0, 1])
    head = head_of(TAGS)
    hidden_BLD = torch.arange(24.0).view(2, 3, 4)
    outputs = head(hidden_BLD, batch)
    expected = head.linear(torch.stack([hidden_BLD[0, 1], hidden_BLD[0, 2], hidden_BLD[1, 0]]))
    torch.testing.assert_close(outputs, expected)
    loss, terms = head.loss(torch.zeros(3, 3), batch)
    assert (loss.item(), terms) == (pytest.approx(3 * math.log(3)), 3)


def test_an_answer_competes_with_context_and_null_alone():
    batch = batch_of(
        [5, 3],
        start=[3, 0],
        end=[4, 0],
        null=[0, 0],
        offset_start=[-1, -1, 0, 2, 4, -1, -1, 0],
        offset_end=[-1, -1, 1, 3, 5, -1, -1, 1],
    )
    head = head_of(ANSWERS)
    loss, terms = head.loss(torch.zeros(2, 5, 2), batch)
    # four candidates in the first window (null and three tokens), two in the second
    assert (loss.item(), terms) == (pytest.approx(math.log(4) + math.log(2)), 2)


def test_scores_of_question_tokens_get_no_gradient():
    batch = batch_of(
        [3], start=[2], end=[2], null=[0], offset_start=[-1, -1, 0], offset_end=[-1, -1, 1]
    )
    outputs = torch.zeros(1, 3, 2, requires_grad=True)
    head_of(ANSWERS).loss(outputs, batch)[0].backward()
    assert outputs.grad[0, 1].tolist() == [0.0, 0.0]
    assert outputs.grad[0, 0].tolist() == [0.25, 0.25]


def marking(**more):
    """Question of two tokens, context of two of which the second answers; context alone."""
    return batch_of(
        [4, 3],
        context_begin=[2, -3],
        gold_first=[1, 3],
        gold_last=[1, 4],
        offset_start=[-1, -1, 0, 2, 6, 8, 10],
        offset_end=[-1, -1, 1, 3, 7, 9, 11],
    )


def test_a_tagger_of_answers_has_a_term_for_every_token_of_the_contexts():
    batch = marking()
    outputs = torch.zeros(2, 4, 2)
    outputs[0, 3, 1] = outputs[1, 0, 1] = outputs[1, 1, 1] = 2.0  # right: inside
    loss, terms = build_head(ANSWERS, 4, torch_generator(0, "head"), answers="tagger").loss(
        outputs, batch
    )
    sure = math.log(1 + math.exp(-2))
    assert (loss.item(), terms) == (pytest.approx(3 * sure + 2 * math.log(2)), 5)


def test_a_tagger_of_answers_learns_nothing_from_the_question():
    outputs = torch.zeros(2, 4, 2, requires_grad=True)
    build_head(ANSWERS, 4, torch_generator(0, "head"), answers="tagger").loss(outputs, marking())[
        0
    ].backward()
    assert outputs.grad[0, :2].abs().sum() == 0
    assert outputs.grad[1, 3].abs().sum() == 0  # padding
    assert outputs.grad[0, 2].tolist() == [-0.5, 0.5]
    assert outputs.grad[0, 3].tolist() == [0.5, -0.5]


def test_a_tagger_marks_nothing_where_there_is_no_answer():
    batch = batch_of(
        [2], context_begin=[0], gold_first=[-1], gold_last=[-1], offset_start=[0, 2],
        offset_end=[1, 3],
    )  # fmt: skip
    outputs = torch.zeros(1, 2, 2)
    outputs[..., 0] = 100.0
    head = build_head(ANSWERS, 4, torch_generator(0, "head"), answers="tagger")
    assert head.loss(outputs, batch)[0].item() == 0.0


def test_embeddings_have_length_one_and_no_weights():
    head = head_of(RANKING)
    batch = batch_of([2, 3])
    embedded = head(torch.randn(2, 3, 4, generator=torch_generator(0, "x")), batch)
    torch.testing.assert_close(embedded.norm(dim=1), torch.ones(2))
    assert list(head.parameters()) == []
