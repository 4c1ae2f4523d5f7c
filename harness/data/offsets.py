"""Do a tokenizer's offsets say where its tokens stand? Answers are cut out of contexts by them.

Some tokenizers give offsets that lose characters, run backwards or are shifted ("msterdam"). Two
faults are repaired: the trimming of byte-level ones, by leaving their post-processor out
(`bare_tokenizer`), and characters of scripts that a vocabulary lacks and drops, by counting them to
the token before (`encode.answers`). With any other fault a tokenizer is refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.data.tokenizers import bare_tokenizer
from harness.errors import CheckpointError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PROBE = (
    "The  Normans (Norman: Nourmands; French: Normands) — said Émile — won in 1066, didn't they?",
    "“Zürich” has 434,008 people; $12.50 or 47°39′N 9°19′E.\nNaïve façade, Łódź, Größe, İstanbul.",
    "Ночь, улица. 東京は日本の首都。 서울 여행 \tαβγ ½ ﬁne™ e\u0301tude I/O-bound C++ x_y 2005's",
)
"""Texts with what contexts are made of: accents, composed and not, other scripts, odd spaces."""

_MARKS = ("##", "▁", "Ġ")
_VISIBLE = frozenset("LNPS")
"""Unicode's letters, numbers, punctuation and symbols: a tokenizer may drop anything else."""


@dataclass(frozen=True)
class Offsets:
    """What was measured on texts.

    `characters` are the visible ones, `uncovered` those in no token; `misplaced` are tokens out of
    order, outside of the text, or of plain letters and digits that are others than those in their
    place; `first_fault` describes the first one of these, or the first ASCII character in no token.
    """

    characters: int
    uncovered: int
    misplaced: int
    first_fault: str | None


def measure_offsets(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str] = PROBE) -> Offsets:
    """Compare every token of some texts with the characters at its offsets."""
    bare = bare_tokenizer(tokenizer)
    characters = uncovered = misplaced = 0
    faults = []
    for text in texts:
        encoding = bare.encode(text, add_special_tokens=False)
        wrong = _misplaced(text, encoding)
        covered = {place for begin, end in encoding.offsets for place in range(begin, end)}
        visible = [n for n, c in enumerate(text) if unicodedata.category(c)[0] in _VISIBLE]
        missed = [n for n in visible if n not in covered]
        characters += len(visible)
        uncovered += len(missed)
        misplaced += len(wrong)
        faults += wrong
        faults += [f"{text[n]!r} at {n} is in no token" for n in missed if text[n].isascii()]
    return Offsets(characters, uncovered, misplaced, faults[0] if faults else None)


def check_offsets(tokenizer: PreTrainedTokenizerFast) -> None:
    """Refuse a tokenizer whose offsets do not say where its tokens stand.

    Raises:
        CheckpointError: it is named, with the first fault.
    """
    found = measure_offsets(tokenizer)
    if found.first_fault is not None:
        raise CheckpointError(
            f"{tokenizer.name_or_path}: the offsets of its tokenizer are wrong: {found.uncovered} "
            f"of {found.characters} characters of a probe are in no token, {found.misplaced} are "
            f"misplaced ({found.first_fault}). Answers can't be cut out of a text with it: "
            "save its tokenizer again, or leave it out of question answering"
        )


def _misplaced(text: str, encoding: Any) -> list[str]:
    """Describe the tokens that are not where their offsets say."""
    faults = []
    before = (0, 0)
    for token, (begin, end) in zip(encoding.tokens, encoding.offsets, strict=True):
        shown = text[begin:end]
        if not 0 <= begin <= end <= len(text) or (begin, end) < before:
            faults.append(f"{token!r} stands at {begin} to {end}, after {before[0]} to {before[1]}")
        elif not _can_be(token, shown.strip()):
            faults.append(f"{token!r} stands where the text has {shown!r}")
        before = (begin, end)
    return faults


def _can_be(token: str, shown: str) -> bool:
    """Say whether a token may stand for these characters, where both are plain."""
    for mark in _MARKS:
        token = token.removeprefix(mark)
    return not (_is_plain(token) and _is_plain(shown)) or token.casefold() == shown.casefold()


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isalnum()
