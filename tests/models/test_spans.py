from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.models.spans import best_spans


def spans(start, end, context, best=20, longest=30):
    scores = torch.tensor([list(zip(start, end, strict=True))], dtype=torch.float32)
    score, begin, stop = best_spans(scores, torch.tensor([context]), best, longest)
    return score.item(), begin.item(), stop.item()


def test_the_best_pair_of_start_and_end_wins():
    assert spans([9, 1, 5, 0], [9, 0, 1, 4], [False, True, True, True]) == (9.0, 2, 3)


def test_an_end_before_its_start_is_no_answer():
    assert spans([0, 0, 5], [5, 0, 1], [True, True, True]) == (6.0, 2, 2)


def test_an_answer_is_at_most_so_many_tokens_long():
    assert spans([5, 0, 0], [0, 1, 5], [True, True, True], longest=2) == (6.0, 0, 1)


def test_a_window_without_context_has_no_answer():
    assert spans([5, 0], [0, 1], [False, False])[0] == float("-inf")


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 5))
def test_with_all_starts_it_is_the_exhaustive_search(seed, length, longest):
    rng = np.random.default_rng(seed)
    start, end = rng.normal(size=(2, length)).astype(np.float32)
    context = rng.random(length) < 0.7
    context[rng.integers(length)] = True
    expected = max(
        start[a] + end[b]
        for a in range(length)
        for b in range(a, min(length, a + longest))
        if context[a] and context[b]
    )
    score, begin, stop = spans(start, end, context.tolist(), best=length, longest=longest)
    assert abs(score - expected) < 1e-5
    assert context[begin]
    assert context[stop]
    assert 0 <= stop - begin < longest
