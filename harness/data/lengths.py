"""How many tokens an input may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.spec import Retrieval, Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

DEFAULT_MAX_LENGTH = 512
"""Tokens of an input where neither the card nor the checkpoint names a limit."""

_SANE = 10**9
"""Tokenizers without a limit say 10^30."""

_OFFSET_POSITIONS = frozenset(
    {
        "bridgetower_text_model",
        "camembert",
        "data2vec-text",
        "esm",
        "ibert",
        "longformer",
        "luke",
        "mpnet",
        "roberta",
        "roberta-prelayernorm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    }
)
"""Model types that count positions from the pad id + 1, so that many rows of the table are lost."""


def effective_max_length(
    task: Task, tokenizer: PreTrainedTokenizerFast, config: Any, split: str = "test"
) -> int:
    """Give the card's `max_length` for a split, capped by what the checkpoint can take, in tokens.

    Without either it is 512.
    """
    limit = checkpoint_limit(tokenizer, config)
    given = task.document_length(split) if isinstance(task, Retrieval) else task.max_length
    known = [length for length in (given, limit) if length is not None]
    return min(known, default=DEFAULT_MAX_LENGTH)


def query_length(task: Retrieval, length: int) -> int:
    """Give the tokens of a query that ranks documents of at most `length` tokens."""
    return min(task.query_max_length or length, length)


def input_lengths(task: Task, tokenizer: PreTrainedTokenizerFast, config: Any) -> set[int]:
    """Collect the lengths that inputs of a task are cut to: of all its documents and queries."""
    splits = ("test", *task.further)
    lengths = {effective_max_length(task, tokenizer, config, split) for split in splits}
    if isinstance(task, Retrieval):
        lengths |= {query_length(task, length) for length in lengths}
    return lengths


def checkpoint_limit(tokenizer: PreTrainedTokenizerFast, config: Any) -> int | None:
    """Give the smaller of the position table and the tokenizer's own limit; None for neither."""
    limits = []
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        if getattr(config, "model_type", "") in _OFFSET_POSITIONS:
            pad = getattr(config, "pad_token_id", None)
            positions -= (tokenizer.pad_token_id if pad is None else pad) + 1
        limits.append(positions)
    if 0 < tokenizer.model_max_length < _SANE:
        limits.append(int(tokenizer.model_max_length))
    return min(limits, default=None)
