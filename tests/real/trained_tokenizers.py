"""Tokenizers of every usual kind, trained in a moment on part of the real text.

Each maker takes `characters`: then no piece is longer than a character (a byte, where the kind
works on bytes), so that between any two characters there is an edge of tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from tests.data.conftest import save_tokenizer

VOCABULARY = 4000
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
LONGEST_PIECE = 16  # of SentencePiece
ONE_SCRIPT = pre_tokenizers.Sequence(
    [pre_tokenizers.UnicodeScripts(), pre_tokenizers.Metaspace(prepend_scheme="first")]
)
"""SentencePiece's rule for learning pieces, by default: none has characters of two scripts.

Letters are of one script, digits and punctuation of another ("common"). Texts are not split so
when they are read.
"""

Maker = Callable[[list[str], bool], Tokenizer]


def wordpiece(texts: list[str], characters: bool) -> Tokenizer:
    """BERT's: words in lower case, without accents."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))  # type: ignore[arg-type]
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=1 if characters else VOCABULARY, special_tokens=SPECIAL, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 1), ("</s>", 2)],
    )
    return tokenizer


def byte_level(texts: list[str], characters: bool, *, prefix_space: bool = False) -> Tokenizer:
    """GPT-2's: pieces of bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    trainer = trainers.BpeTrainer(
        vocab_size=1 if characters else VOCABULARY,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=SPECIAL,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def byte_level_with_prefix_space(texts: list[str], characters: bool) -> Tokenizer:
    """RoBERTa's: the same, and a space before the first word."""
    return byte_level(texts, characters, prefix_space=True)


def byte_fallback(texts: list[str], characters: bool) -> Tokenizer:
    """Llama 2's: spaces are a letter, and what the vocabulary lacks becomes bytes."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = ONE_SCRIPT
    trainer = trainers.BpeTrainer(
        vocab_size=1 if characters else VOCABULARY,
        special_tokens=[*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))],
        limit_alphabet=80,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.pre_tokenizer = None  # type: ignore[assignment]
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    return tokenizer


def unigram(texts: list[str], characters: bool) -> Tokenizer:
    """SentencePiece's own kind, as of T5 and XLM-R."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = ONE_SCRIPT
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY,
        max_piece_length=1 if characters else LONGEST_PIECE,
        special_tokens=SPECIAL,
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


MAKERS: tuple[Maker, ...] = (
    wordpiece,
    byte_level,
    byte_level_with_prefix_space,
    byte_fallback,
    unigram,
)


def train_tokenizer(
    make: Maker, texts: list[str], folder: Path, *, characters: bool = False
) -> PreTrainedTokenizerFast:
    """Train, save as a checkpoint's tokenizer, and load it the way workers do."""
    return save_tokenizer(
        folder,
        make(texts, characters),
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
    )
