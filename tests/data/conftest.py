"""Task cards, and small real tokenizers: trained in a moment, loaded as a checkpoint's are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import load_tokenizer
from harness.spec import Task

TEXT = [
    "The Normans were the people who gave their name to Normandy, a region in France.",
    "Who gave their name to Normandy in the 1000's and 1100's?",
    "a charming and often affecting journey through the city of Zürich in 2005",
    "It's a film about bears; it is about bears and bears only, isn't it?",
]
_TASK: TypeAdapter[Task] = TypeAdapter(Task)


def make_task(kind: str, **card: Any) -> Task:
    """A card of a kind with the least that it needs; what is given wins."""
    least: dict[str, dict[str, Any]] = {
        "sequence_classification": {"text": ["sentence"], "labels": ["negative", "positive"]},
        "sequence_regression": {"text": ["sentence1", "sentence2"]},
        "token_classification": {"labels": ["PER", "LOC"]},
        "question_answering": {},
        "retrieval": {},
    }
    native = {"format": "glue_tsv", "train": "train.tsv", "test": "test.tsv"}
    common = {"name": "small", "kind": kind, "metrics": ["accuracy"], "data": {"native": native}}
    return _TASK.validate_python(common | least[kind] | card)


def save_tokenizer(folder: Path, tokenizer: Tokenizer, **names: Any) -> PreTrainedTokenizerFast:
    """Save as a checkpoint's tokenizer and load it the way workers do."""
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return load_tokenizer(folder)


def train_byte_level(prefix_space: bool, *, digits: bool = True) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.ByteLevel()
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_])
        if digits
        else bytes_
    )
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "<pad>", "</s>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


@pytest.fixture(scope="session")
def wordpiece(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    """Like BERT's: [CLS] a [SEP] b [SEP], type ids, lower case."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # type: ignore[arg-type]
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return save_tokenizer(
        tmp_path_factory.mktemp("wordpiece"),
        tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=512,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


@pytest.fixture(scope="session")
def byte_level(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    """Like a decoder's: byte-level, digits apart, adds nothing, has an end token and no pad."""
    return save_tokenizer(
        tmp_path_factory.mktemp("byte_level"),
        train_byte_level(prefix_space=False),
        eos_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )


@pytest.fixture(scope="session")
def roberta_like(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    """Byte-level with a space put first, trimmed offsets, <s> a </s></s> b </s>."""
    tokenizer = train_byte_level(prefix_space=True)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True
    )
    return save_tokenizer(
        tmp_path_factory.mktemp("roberta_like"),
        tokenizer,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        model_input_names=["input_ids", "attention_mask"],
    )


@pytest.fixture(params=["wordpiece", "byte_level", "roberta_like"])
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerFast:
    """Each of the three in turn."""
    return request.getfixturevalue(request.param)
