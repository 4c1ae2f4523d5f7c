"""SST-2 as both sides of a benchmark see it: the same token ids for harness and for `Trainer`."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback
from transformers.utils import logging

from harness.checkpoints import discover
from harness.data.encode import Encoded, encode
from harness.data.frames import Examples
from harness.data.lengths import effective_max_length
from harness.data.sources import load_examples
from harness.data.tokenizers import load_tokenizer
from harness.models.backbone import Backbone, load_backbone
from harness.spec import Recipe, SequenceClassification

DATA_ROOT = Path(__file__).parents[2] / "shared" / "data"
MAX_LENGTH = 128


@dataclass(frozen=True)
class Material:
    """The task, its encoded splits, and the checkpoint."""

    task: SequenceClassification
    examples: Examples
    encoded: dict[str, Encoded]
    backbone: Backbone
    tokenizer: Any


def sst2_task(train_limit: int | None) -> SequenceClassification:
    """Give the card of the extract: train.tsv and dev.tsv in a folder `sst2`."""
    limit = {} if train_limit is None else {"limit": {"train": train_limit}}
    return SequenceClassification.model_validate(
        {
            "name": "sst2",
            "kind": "sequence_classification",
            "data": {
                "native": {
                    "format": "glue_tsv",
                    "train": "sst2/train.tsv",
                    "test": "sst2/dev.tsv",
                }
            },
            "text": ["sentence"],
            "labels": ["negative", "positive"],
            "splits": limit,
            "metrics": ["accuracy"],
            "max_length": MAX_LENGTH,
        }
    )


@contextmanager
def load_material(
    checkpoint: Path, data_root: Path, train_limit: int | None = None
) -> Iterator[Material]:
    """Load and encode everything; the encoded data lie in a temporary folder."""
    task = sst2_task(train_limit)
    found = discover(checkpoint).checkpoints[0]
    examples = load_examples(task, data_root)
    tokenizer = load_tokenizer(found.path)
    backbone = load_backbone(found)
    length = effective_max_length(task, tokenizer, backbone.config)
    with tempfile.TemporaryDirectory() as cache:
        encoded = {}
        for role in ("train", "validation", "test"):
            part = encode(task, examples, role, tokenizer, length, Path(cache))
            assert isinstance(part, Encoded)
            encoded[role] = part
        yield Material(task, examples, encoded, backbone, tokenizer)


def as_dataset(encoded: Encoded, pad_to: int | None = None, pad_id: int = 0) -> Dataset:
    """Give a split to `Trainer`, padded to one length as run_glue.py does, or bare."""
    rows = []
    for begin, end, label in zip(
        encoded.starts[:-1], encoded.starts[1:], encoded.targets["label"], strict=True
    ):
        ids = encoded.token_ids[begin:end].tolist()
        padding = 0 if pad_to is None else pad_to - len(ids)
        row = {
            "input_ids": ids + [pad_id] * padding,
            "attention_mask": [1] * len(ids) + [0] * padding,
            "labels": int(label),
        }
        if encoded.type_ids is not None:
            row["token_type_ids"] = encoded.type_ids[begin:end].tolist() + [0] * padding
        rows.append(row)
    return Dataset.from_list(rows)


def trainer_model(checkpoint: Path) -> Any:
    """Load the checkpoint with transformers' own classification head, quietly."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return AutoModelForSequenceClassification.from_pretrained(
        checkpoint, num_labels=2, local_files_only=True, use_safetensors=True
    )


def make_trainer(model: Any, recipe: Recipe, folder: str, seed: int, **more: Any) -> Trainer:
    """Make a `Trainer` with the numbers of a recipe; nothing is evaluated, saved or logged.

    `more` are arguments of `Trainer`, and `train_sampling_strategy`.
    """
    strategy = more.pop("train_sampling_strategy", "random")
    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=recipe.batch_size,
        per_device_eval_batch_size=recipe.batch_size,
        max_steps=recipe.max_steps,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type=recipe.schedule,
        warmup_steps=recipe.warmup_ratio,
        weight_decay=recipe.weight_decay,
        adam_beta1=recipe.adam_betas[0],
        adam_beta2=recipe.adam_betas[1],
        adam_epsilon=recipe.adam_eps,
        max_grad_norm=recipe.max_grad_norm,
        seed=seed,
        data_seed=seed,
        train_sampling_strategy=strategy,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        dataloader_pin_memory=False,
    )
    trainer = Trainer(model=model, args=arguments, **more)
    trainer.remove_callback(PrinterCallback)
    return trainer


def tokens_per_example(encoded: Encoded) -> float:
    """Give the mean length."""
    return float(np.diff(encoded.starts).mean())
