"""Three tiny checkpoints, pretrained on the corpus of the made-up world in seconds on one core.

`toy-encoder-mlm` (BERT, masked words), `toy-decoder-clm` (Llama, next words) and
`toy-encoder-random` (the same BERT, untrained): their difference shows what pretraining is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

from harness.seeding import child_seed, numpy_generator, seed_dropout

WIDTH, LAYERS, HEADS = 64, 2, 4
LONGEST = 128
SPREAD = 0.1  # of new weights; the usual 0.02 suits widths ten times this one
ENCODER_STEPS, DECODER_STEPS = (
    600,
    240,
)  # masked words teach from a third of the text, next words from all
BATCH, TOGETHER, WARM_UP = 32, 8, 40
LEARNING_RATE = 6e-3
MASKED = 0.3
IGNORED = -100
Ids = NDArray[np.int64]
Objective = Callable[[Ids], tuple[Ids, Ids]]


def make_checkpoints(folder: Path, corpus: Path, seed: int = 0) -> None:
    """Train two tokenizers and two models on a corpus (a text a line), and save three checkpoints.

    The same corpus and seed give the same bytes on the same machine.
    """
    lines = corpus.read_text(encoding="utf-8").splitlines()
    with _alone():
        words = _train_word_pieces(lines)
        seed_dropout(child_seed(seed, "toy/encoder-random"))
        _save(BertForMaskedLM(_encoder_config(words)), words, folder / "toy-encoder-random")

        seed_dropout(child_seed(seed, "toy/encoder"))
        encoder = BertForMaskedLM(_encoder_config(words))
        rng = numpy_generator(seed, "toy/encoder/batches")
        batches = _batches(_encode(lines, words), words.pad_token_id, ENCODER_STEPS, rng)
        _pretrain(encoder, batches, ENCODER_STEPS, _mask_words(words, rng))
        _save(encoder, words, folder / "toy-encoder-mlm")

        pieces = _train_byte_pairs(lines)
        seed_dropout(child_seed(seed, "toy/decoder"))
        decoder = LlamaForCausalLM(_decoder_config(pieces))
        rng = numpy_generator(seed, "toy/decoder/batches")
        batches = _batches(_encode(lines, pieces), pieces.pad_token_id, DECODER_STEPS, rng)
        _pretrain(decoder, batches, DECODER_STEPS, _next_words(pieces))
        _save(decoder, pieces, folder / "toy-decoder-clm")


def _train_word_pieces(lines: list[str]) -> Any:
    """Train a cased WordPiece tokenizer with BERT's special tokens."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    letters = sorted(set("".join(lines)) - {" "})
    # The trainer would number the letters in an order that changes from process to process, so they
    # are given beforehand; only the vocabulary is kept of what it makes.
    given = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{x}" for x in letters)]
    trainer = trainers.WordPieceTrainer(vocab_size=800, special_tokens=given, show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    vocabulary = tokenizer.get_vocab()
    return BertTokenizer(vocab=vocabulary, do_lower_case=False, model_max_length=LONGEST)


def _train_byte_pairs(lines: list[str]) -> Any:
    """Train a byte-level BPE tokenizer that adds no special tokens, as decoders have."""
    end = "<|endoftext|>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=[end],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=end,
        pad_token=end,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "attention_mask"],
    )


def _encoder_config(tokenizer: Any) -> Any:
    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=LONGEST,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=SPREAD,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def _decoder_config(tokenizer: Any) -> Any:
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=LONGEST,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=SPREAD,
        tie_word_embeddings=True,
    )


def _encode(lines: list[str], tokenizer: Any) -> list[dict[str, list[int]]]:
    """Encode each line; where it has several sentences, as a pair of the first and the rest."""
    rows = []
    for line in lines:
        first, mark, rest = line.partition("? " if "? " in line else ". ")
        head = first + mark.strip()
        if tokenizer.cls_token is None:
            text = f"{head}\n{rest}" if rest else head
            rows.append(tokenizer(text + tokenizer.eos_token))
        else:
            rows.append(tokenizer(head, rest or None))
    return rows


def _mask_words(tokenizer: Any, rng: np.random.Generator) -> Objective:
    """Hide some tokens and ask for them; every chosen token becomes the mask token."""
    special = np.array(tokenizer.all_special_ids)

    def objective(ids: Ids) -> tuple[Ids, Ids]:
        chosen = (rng.random(ids.shape) < MASKED) & ~np.isin(ids, special)
        return np.where(chosen, tokenizer.mask_token_id, ids), np.where(chosen, ids, IGNORED)

    return objective


def _next_words(tokenizer: Any) -> Objective:
    """Ask for every next token up to the end token, which is the padding too."""

    def objective(ids: Ids) -> tuple[Ids, Ids]:
        ends = ids == tokenizer.eos_token_id
        padding = np.cumsum(ends, axis=1) > 1
        return ids, np.where(padding, IGNORED, ids)

    return objective


def _pretrain(
    model: Any, batches: Iterable[dict[str, Ids]], steps: int, objective: Objective
) -> None:
    """Train in place: AdamW, a short warm-up, then linear to zero."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, weight_decay=0.01, fused=True
    )
    model.train()
    for step, batch in enumerate(batches):
        rate = min((step + 1) / WARM_UP, (steps - step) / (steps - WARM_UP))
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * rate
        ids, labels = objective(batch["input_ids"])
        tensors = {
            name: torch.from_numpy(array)
            for name, array in (batch | {"input_ids": ids, "labels": labels}).items()
        }
        loss = model(**tensors).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def _batches(
    rows: list[dict[str, list[int]]], pad: int, steps: int, rng: np.random.Generator
) -> Iterator[dict[str, Ids]]:
    """Draw batches, a few at a time so that rows of like length come together."""
    for _ in range(steps // TOGETHER):
        drawn = [rows[index] for index in rng.integers(len(rows), size=TOGETHER * BATCH)]
        drawn.sort(key=lambda row: len(row["input_ids"]))
        for part in rng.permutation(TOGETHER):
            chosen = drawn[part * BATCH : (part + 1) * BATCH]
            yield {
                name: _pad([row[name] for row in chosen], pad if name == "input_ids" else 0)
                for name in chosen[0]
            }


def _pad(rows: list[list[int]], value: int) -> Ids:
    padded = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    model.eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@contextmanager
def _alone() -> Iterator[None]:
    """Compute on one thread, where tiny models are fastest, silently; leave all as it was found."""
    threads, bar = torch.get_num_threads(), logging.is_progress_bar_enabled()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        torch.set_num_threads(threads)
        if bar:
            logging.enable_progress_bar()
