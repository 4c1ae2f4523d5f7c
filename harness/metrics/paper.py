"""The scores of arXiv 2507.00994, as its evaluation code computes them: the `paper/...` profile.

They are there to be compared with that paper. The standard metrics beside them are what the field
means by the same words. docs/metrics.md says where the two differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from harness.metrics import ties

NOWHERE = frozenset({-1})
"""What stands for an empty set of tokens: one token that no context has."""


def sentence_macro_f1(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> float | None:
    """Mean over sentences of the mean F1 over the tags in a sentence's gold or prediction.

    `O` is a tag as others are, and `B-` and `I-` of a type are two. Sentences without words are
    left out; None where no others are.
    """
    words = np.array([len(sentence) for sentence in gold])
    if not words.sum():
        return None
    sentence = np.repeat(np.arange(len(words)), words)
    tags = list(chain(chain.from_iterable(gold), chain.from_iterable(predicted)))
    names, numbers = np.unique(tags, return_inverse=True)
    gold_tag, predicted_tag = np.split(numbers, 2)

    def count(tag: np.ndarray, chosen: slice | np.ndarray = np.s_[:]) -> np.ndarray:
        cells = (sentence * len(names) + tag)[chosen]
        return np.bincount(cells, minlength=len(words) * len(names)).reshape(len(words), -1)

    right_ST = count(gold_tag, gold_tag == predicted_tag)
    marked_ST = count(gold_tag) + count(predicted_tag)
    f1_ST = 2 * right_ST / np.maximum(marked_ST, 1)
    present_S = (marked_ST > 0).sum(axis=1)[words > 0]
    return float((f1_ST.sum(axis=1)[words > 0] / present_S).mean())


def token_f1(predicted: Iterable[int], gold: Iterable[int]) -> float:
    """F1 of two sets of token indices; an empty one counts as a set of one token of its own kind.

    So no answer where there is none is 1, and no answer where there is one is 0.
    """
    said, wanted = frozenset(predicted) or NOWHERE, frozenset(gold) or NOWHERE
    return 2 * len(said & wanted) / (len(said) + len(wanted))


def retrieved_ndcg(rankings: ties.Rankings, cutoff: int) -> ties.Floats:
    """Give nDCG of the first `cutoff` documents with the ideal from those documents alone, (Q,)."""
    top = np.s_[:, :cutoff]
    grades = rankings.grades[top]
    retrieved = ties.Rankings(rankings.scores[top], grades, rankings.known[top], judged=grades)
    return ties.ndcg(retrieved)
