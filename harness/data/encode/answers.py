"""Questions and contexts to features: overlapping windows of the context, after the question."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.data.encode.layout import Layout, assemble, pair_layout
from harness.data.encode.ragged import Ragged, Spans, from_lists, positions, tokenise
from harness.data.features import Encoded
from harness.data.offsets import check_offsets
from harness.data.tokenizers import bare_tokenizer
from harness.spec import QuestionAnswering

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def encode_questions(
    task: QuestionAnswering,
    frame: pd.DataFrame,
    tokenizer: PreTrainedTokenizerFast,
    max_length: int,
) -> Encoded:
    """Encode questions with their contexts; a long context becomes several windows.

    Neighbouring windows share `task.stride` tokens, but at most half a window, so that every stride
    goes with every length. A question gets at most half of the text tokens. The first gold answer
    is the target: the fewest tokens that hold all of it. `counts["unplaced"]` counts answers that
    are whole in no window, `counts["inexact"]` those that begin or end inside a token ("six" of
    "sixth"), so that no span of tokens is the answer and nothing more.

    Raises CheckpointError where the offsets of the tokenizer are wrong.
    """
    check_offsets(tokenizer)
    bare = bare_tokenizer(tokenizer)
    layout = pair_layout(tokenizer, bare)
    capacity = layout.capacity(max_length)
    question, question_row = _distinct(frame["question"].tolist())
    context, context_row = _distinct(frame["context"].tolist())
    questions = tokenise(bare, question)
    contexts, spans = _tokenise_contexts(bare, context)
    asked = np.minimum(questions.lengths, capacity // 2)[question_row]
    room = capacity - asked
    example, window, lengths = _windows(contexts.lengths[context_row], room, task.stride)
    begins = contexts.starts[context_row][example] + window
    asked_spans = Spans(questions.flat, questions.starts[question_row][example], asked[example])
    made = assemble(layout, [asked_spans, Spans(contexts.flat, begins, lengths)])
    shown = spans[:, positions(begins, lengths)]
    offsets = _offsets(shown, positions(made.text_starts[1], lengths), len(made.token_ids))
    first, last, inexact = _answer_tokens(frame, context_row, contexts, spans)
    null, start, end = _targets(
        layout, made.starts, made.text_starts[1], window, lengths, first[example], last[example]
    )
    answerable = np.count_nonzero(frame["answers"].map(bool))
    counts = {
        "features": len(example),
        "tokens": len(made.token_ids),
        "truncated": int(np.count_nonzero(asked < questions.lengths[question_row])),
        "unplaced": int(answerable) - len(np.unique(example[start != null])),
        "inexact": inexact,
    }
    targets = {"start": start, "end": end, "null": null}
    targets |= {
        "context_begin": (made.text_starts[1] - made.starts[:-1] - window).astype(np.int32),
        "gold_first": first[example].astype(np.int32),
        "gold_last": last[example].astype(np.int32),
    }
    targets |= {"offset_start": offsets[0], "offset_end": offsets[1]}
    return Encoded(made.token_ids, made.starts, example, made.type_ids, targets, counts)


def _distinct(texts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """List the distinct texts, and say which of them each text is: contexts come many times."""
    numbers: dict[str, int] = {}
    rows = np.fromiter(
        (numbers.setdefault(text, len(numbers)) for text in texts), dtype=np.int64, count=len(texts)
    )
    return list(numbers), rows


def _tokenise_contexts(bare: Any, texts: list[str]) -> tuple[Ragged, NDArray[np.int32]]:
    """Encode contexts: ids, and int32 (2, T) of each token's characters, trimmed of white space.

    Characters that a tokenizer drops belong to the token before them, so that no answer loses one.
    """
    encodings = bare.encode_batch(texts, add_special_tokens=False)
    ragged = from_lists([encoding.ids for encoding in encodings])
    pairs = chain.from_iterable(chain.from_iterable(e.offsets for e in encodings))
    spans = np.fromiter(pairs, dtype=np.int64, count=2 * len(ragged.flat)).reshape(-1, 2).T.copy()
    _close_gaps(spans, ragged, np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    shift = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])
    return ragged, _trim(spans, "\n".join(texts), np.repeat(shift, ragged.lengths))


def _close_gaps(spans: NDArray[np.int64], ragged: Ragged, sizes: NDArray[np.int64]) -> None:
    """Let the tokens of each text, of so many characters, follow each other without a gap."""
    some = ragged.lengths > 0
    following = np.append(spans[0, 1:], 0)
    following[ragged.starts[1:][some] - 1] = sizes[some]
    np.maximum(spans[1], following, out=spans[1])
    spans[0, ragged.starts[:-1][some]] = 0


def _trim(spans: NDArray[np.int64], text: str, shift: NDArray[np.int64]) -> NDArray[np.int32]:
    """Shrink spans of characters (shifted into `text`) until no white space is at their ends.

    A token of white space alone ends as an empty span after it.
    """
    space = np.fromiter(map(str.isspace, text), dtype=bool, count=len(text))
    space = np.append(space, False)
    begin, end = spans + shift
    while (move := (begin < end) & space[begin]).any():
        begin = begin + move
    while (move := (begin < end) & space[end - 1]).any():
        end = end - move
    return np.stack([begin - shift, end - shift]).astype(np.int32)


def _offsets(shown: NDArray[np.int32], where: NDArray[np.int64], tokens: int) -> NDArray[np.int32]:
    """Put the spans (2, C) of context tokens at their places among all tokens: (2, T), else -1."""
    offsets = np.full((2, tokens), -1, dtype=np.int32)
    visible = shown[0] < shown[1]  # not white space only
    offsets[:, where[visible]] = shown[:, visible]
    return offsets


def _windows(
    lengths: NDArray[np.int64], room: NDArray[np.int64], stride: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut contexts into windows: example (F,), first token in the context (F,), tokens (F,)."""
    step = room - np.minimum(stride, room // 2)
    more = np.maximum(lengths - room, 0)
    count = 1 + -(-more // step)
    example = np.repeat(np.arange(len(lengths), dtype=np.int64), count)
    begin = positions(np.zeros(len(count), dtype=np.int64), count) * step[example]
    return example, begin, np.minimum(room[example], lengths[example] - begin)


def _answer_tokens(
    frame: pd.DataFrame,
    context_row: NDArray[np.int64],
    contexts: Ragged,
    spans: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Find the first and last context token (N,) of each example's first answer; -1 for none.

    Also counts the answers that do not begin and end where these tokens do.
    """
    inexact = 0
    first = np.full(len(frame), -1, dtype=np.int64)
    last = np.full(len(frame), -1, dtype=np.int64)
    for row, golds in enumerate(frame["answers"]):
        if not golds:
            continue
        text, start = golds[0]["text"], golds[0]["start"]
        begin = start + len(text) - len(text.lstrip())
        end = start + len(text.rstrip())
        number = context_row[row]
        tokens = slice(contexts.starts[number], contexts.starts[number + 1])
        left = int(np.searchsorted(spans[1, tokens], begin, side="right"))
        right = int(np.searchsorted(spans[0, tokens], end, side="left")) - 1
        if left <= right:
            first[row], last[row] = left, right
            shown = spans[:, tokens]
            inexact += bool(shown[0, left] != begin or shown[1, right] != end)
    return first, last, inexact


def _targets(
    layout: Layout,
    starts: NDArray[np.int64],
    context_starts: NDArray[np.int64],
    window: NDArray[np.int64],
    lengths: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Make null, start and end (F,), positions in the feature, from tokens of the context."""
    null = np.zeros(len(window), dtype=np.int64)
    if not len(layout.fixed[0]):
        null = np.diff(starts) - 1
    whole = (first >= window) & (last < window + lengths) & (first >= 0)
    shift = context_starts - starts[:-1] - window
    start = np.where(whole, first + shift, null)
    end = np.where(whole, last + shift, null)
    return null.astype(np.int32), start.astype(np.int32), end.astype(np.int32)
