"""From the outputs of windows to one prediction an example: array operations over a whole split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from harness.data.encode import Encoded


def choose_tags(
    encoded: Encoded,
    classes: NDArray[np.int64],
    words: NDArray[np.int64],
    tag_names: Sequence[str],
) -> tuple[list[list[str]], NDArray[np.int64]]:
    """Give each word the tag from the window where it has most context, `O` if none shows it.

    `classes` are flat like the tokens (used where a word begins), `words` counts those of each
    example. Returns the tags of each example, and how many of its words no window showed.
    """
    begins = np.flatnonzero(encoded.targets["word"] >= 0)
    example = np.repeat(encoded.example, np.diff(encoded.starts))[begins]
    first_word = np.cumsum(words) - words
    place = first_word[example] + encoded.targets["word"][begins]
    # Written from least to most context: what is written last stays.
    order = np.argsort(encoded.targets["context"][begins], kind="stable")
    chosen = np.zeros(int(words.sum()), dtype=np.int64)
    seen = np.zeros(int(words.sum()), dtype=np.bool_)
    chosen[place[order]] = classes[begins][order]
    seen[place] = True
    names = np.array(tag_names, dtype=object)[chosen]
    tags = [list(part) for part in np.split(names, first_word[1:])]
    owner = np.repeat(np.arange(len(words)), words)
    return tags, np.bincount(owner[~seen], minlength=len(words))


def choose_answers(
    encoded: Encoded, windows: NDArray[np.float64], contexts: Sequence[str]
) -> tuple[list[str], NDArray[np.float64], list[list[int]]]:
    """Choose the best span of each example over its windows, and compare it with no answer.

    `windows` (4, features): score, start and end token of the best span of a window, and its null
    score. Returns the texts ("" where no window shows any context), the gaps: the lowest null
    score of the example's windows minus the score of its best span, as the SQuAD 2.0 code of BERT
    does (0 where there is no span), and the places of the span's tokens in the context.
    """
    score, null = windows[0], windows[3]
    examples = len(contexts)
    order = np.lexsort((-score, encoded.example))
    example, first = np.unique(encoded.example[order], return_index=True)
    best = order[first]
    lowest_null = np.full(examples, np.inf)
    np.minimum.at(lowest_null, encoded.example, null)
    has_span = np.isfinite(score[best])
    example, best = example[has_span], best[has_span]
    gaps = np.zeros(examples)
    gaps[example] = lowest_null[example] - score[best]
    first, last = windows[1:3, best].astype(np.int64)
    begin = encoded.targets["offset_start"][encoded.starts[best] + first]
    end = encoded.targets["offset_end"][encoded.starts[best] + last]
    texts = [""] * examples
    for row, a, b in zip(example.tolist(), begin.tolist(), end.tolist(), strict=True):
        texts[row] = contexts[row][a:b].strip()
    places = np.full((2, examples), -1)
    places[:, example] = np.stack([first, last]) - encoded.targets["context_begin"][best]
    return texts, gaps, list_tokens(*places)


def mark_answers(
    encoded: Encoded, odds: NDArray[np.floating], contexts: Sequence[str]
) -> tuple[list[str], NDArray[np.float64], list[list[int]]]:
    """Choose the answer of each example from the log odds of every token to be in it.

    `odds` are flat like the tokens (used where a token is context). Tokens with odds above 0 are
    marked. The answer is the unbroken row of marked tokens with the largest sum of odds; where none
    is marked, the likeliest token. Returns as `choose_answers` does the texts ("" where no window
    shows any context), the gaps: minus the largest of the odds, so that a gap above 0 says that
    nothing is marked (0 where there are no tokens), and the places of all marked tokens.
    """
    token, example, place = _context_tokens(encoded)
    begin, end = encoded.targets["offset_start"][token], encoded.targets["offset_end"][token]
    texts, gaps = [""] * len(contexts), np.zeros(len(contexts))
    marked: list[list[int]] = [[] for _ in contexts]
    owners, firsts = np.unique(example, return_index=True)
    lasts = np.append(firsts, len(token))[1:]
    for owner, first, last in zip(owners, firsts, lasts, strict=True):
        mine = odds[token[first:last]].astype(np.float64)
        low, high = _best_row(mine)
        texts[owner] = contexts[owner][begin[first + low] : end[first + high]].strip()
        gaps[owner] = -mine.max()
        marked[owner] = place[first:last][mine > 0].tolist()
    return texts, gaps, marked


def _context_tokens(
    encoded: Encoded,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List every token of the contexts once, by example and place: flat place, example, place.

    It is that of the window where it has most context; of equals the first.
    """
    token = np.flatnonzero(encoded.targets["offset_start"] >= 0)
    window = np.repeat(np.arange(len(encoded.example)), np.diff(encoded.starts))[token]
    example = encoded.example[window]
    place = token - encoded.starts[window] - encoded.targets["context_begin"][window]
    first = np.full(len(encoded.example), len(encoded.token_ids))
    last = np.full(len(encoded.example), -1)
    np.minimum.at(first, window, token)
    np.maximum.at(last, window, token)
    context = np.minimum(token - first[window], last[window] - token)
    key = example * (place.max(initial=0) + 1) + place
    order = np.lexsort((-context, key))
    _, fresh = np.unique(key[order], return_index=True)
    chosen = order[fresh]
    return token[chosen], example[chosen], place[chosen]


def _best_row(odds: NDArray[np.float64]) -> tuple[int, int]:
    """Find the first and last of the unbroken row of odds above 0 with the largest sum."""
    inside = np.concatenate([[0], odds > 0, [0]])
    begins, ends = np.flatnonzero(np.diff(inside)).reshape(-1, 2).T
    if not len(begins):
        best = int(odds.argmax())
        return best, best
    sums = np.append(0.0, odds.cumsum())
    best = int((sums[ends] - sums[begins]).argmax())
    return int(begins[best]), int(ends[best]) - 1


def list_tokens(first: NDArray[np.integer], last: NDArray[np.integer]) -> list[list[int]]:
    """List the tokens from first to last (inclusive, (N,) each) of every span; none from -1."""
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    return [[] if a < 0 else list(range(a, b + 1)) for a, b in pairs]
