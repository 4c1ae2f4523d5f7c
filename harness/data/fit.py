"""How many tokens the inputs of a task have, and what does not fit into the length of a run."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.data.check import percentiles
from harness.data.encode import Encoded, EncodedCollection, encode
from harness.data.frames import Examples
from harness.data.lengths import effective_max_length, query_length
from harness.spec import QuestionAnswering, Retrieval, TokenClassification

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

WHOLE = 1 << 30
"""A length that cuts nothing."""


@dataclass(frozen=True)
class Fit:
    """The inputs of one split, or of the documents of one.

    `tokens` are lengths at the percentiles of `harness.data.check`, uncut, special tokens included.
    `over` is the share longer than `length`; `fate` says what becomes of these. `lost` says what no
    window shows at that length.
    """

    name: str
    tokens: tuple[int, ...]
    length: int
    over: float
    fate: str
    lost: str = ""


def check_fit(
    examples: Examples, tokenizer: PreTrainedTokenizerFast, config: Any
) -> tuple[Fit, ...]:
    """Encode every split uncut and as a run would, and compare."""
    task = examples.task
    uncut = (
        task.model_copy(update={"query_max_length": None}) if isinstance(task, Retrieval) else task
    )
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch)
        for split in examples.parts:
            length = effective_max_length(task, tokenizer, config, split)
            whole = encode(uncut, examples, split, tokenizer, WHOLE, cache)
            if isinstance(whole, EncodedCollection):
                assert isinstance(task, Retrieval)
                found.append(_fit(split, whole.queries, query_length(task, length), "cut"))
                fate = "cut" if task.overlap_of_passages(split) is None else "in several passages"
                found.append(_fit(f"{split}: documents", whole.documents, length, fate))
                continue
            windowed = isinstance(task, QuestionAnswering | TokenClassification)
            fit = _fit(split, whole, length, "in several windows" if windowed else "cut")
            if windowed:
                windows = encode(task, examples, split, tokenizer, length, cache)
                assert isinstance(windows, Encoded)
                fit = replace(fit, lost=_lost(windows.counts))
            found.append(fit)
    return tuple(found)


def _lost(counts: dict[str, int]) -> str:
    what = {
        "unplaced": "answers are whole in no window",
        "inexact": "answers begin or end inside a token",
        "unseen_words": "words have no token",
    }
    return ", ".join(f"{counts[name]:,} {text}" for name, text in what.items() if counts.get(name))


def _fit(name: str, whole: Encoded, length: int, fate: str) -> Fit:
    lengths = whole.lengths
    return Fit(name, percentiles(lengths), length, float((lengths > length).mean()), fate)
