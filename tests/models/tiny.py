"""Small random checkpoints and hand-made encoded data for the tests of the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, BertConfig, LlamaConfig

from harness.data.encode import Encoded
from harness.models.backbone import Backbone, load_backbone
from harness.spec import (
    Checkpoint,
    QuestionAnswering,
    Recipe,
    Retrieval,
    SequenceClassification,
    SequenceRegression,
    TokenClassification,
)

DATA = {"hub": {"path": "none"}}
VOCABULARY = 60
CLASSES = SequenceClassification(
    name="c",
    kind="sequence_classification",
    data=DATA,
    text="{t}",
    labels=("a", "b"),
    metrics=("m",),
)
NUMBER = SequenceRegression(
    name="n", kind="sequence_regression", data=DATA, text="{t}", metrics=("m",)
)
TAGS = TokenClassification(
    name="t", kind="token_classification", data=DATA, labels=("P",), metrics=("m",)
)
ANSWERS = QuestionAnswering(
    name="a", kind="question_answering", data=DATA, metrics=("m",), unanswerable=True
)
RANKING = Retrieval(name="r", kind="retrieval", data=DATA, metrics=("m",), depth=3)


def bert_config(**more: Any) -> BertConfig:
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,
    }
    return BertConfig(**sizes | more)


def llama_config(**more: Any) -> LlamaConfig:
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return LlamaConfig(**sizes | more)


def save_checkpoint(folder: Path, config: Any, seed: int = 0, **more: Any) -> Checkpoint:
    """Write random weights of that architecture, the same ones for the same seed."""
    torch.manual_seed(seed)
    module = AutoModel.from_config(config)
    module.save_pretrained(folder)
    return Checkpoint(name="tiny", path=str(folder), fingerprint="0" * 16, **more)


def tiny_bert(folder: Path, dropout: float = 0.0, **more: Any) -> Backbone:
    config = bert_config(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    return load_backbone(save_checkpoint(folder, config, **more))


def encoded_texts(
    lengths: list[int], targets: dict[str, np.ndarray] | None = None, seed: int = 0
) -> Encoded:
    """Random token ids, and an example a feature."""
    rng = np.random.default_rng(seed)
    return Encoded(
        token_ids=rng.integers(1, VOCABULARY, sum(lengths)).astype(np.int32),
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        example=np.arange(len(lengths)),
        type_ids=None,
        targets=targets or {},
        counts={},
    )


def encoded_classes(lengths: list[int], seed: int = 0) -> Encoded:
    """Texts whose class is whether their first token is of the upper half of the vocabulary."""
    encoded = encoded_texts(lengths, seed=seed)
    labels = (encoded.token_ids[encoded.starts[:-1]] >= VOCABULARY // 2).astype(np.int64)
    encoded.targets["label"] = labels
    return encoded


def recipe(**more: Any) -> Recipe:
    return Recipe(**{"learning_rate": 1e-3, "max_steps": 6, "batch_size": 4} | more)


def lengths_of(features: int, seed: int = 0, longest: int = 12) -> list[int]:
    return np.random.default_rng(seed).integers(2, longest + 1, features).tolist()
