"""A run: task, checkpoint, recipe and seed, and the id that they give it."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from harness.spec.tasks import Task
from harness.spec.value import Spec, canonical_json

PROTOCOL = 1
"""Version of what a recipe means. It rises when the same recipe would give other scores."""

TEMPERATURE = 0.05
"""Of a retrieval task's loss, where the recipe gives none (a scale of 20, as the paper's)."""

Attention = Literal["native", "bidirectional", "causal"]
Pooling = Literal["mean", "first", "last"]
Precision = Literal["fp32", "bf16", "bf16_pure"]


class Checkpoint(Spec):
    """Pretrained weights with config and tokenizer, known by the fingerprint of their content."""

    name: str
    path: str = Field(description="local folder")
    fingerprint: str = Field(description="of weights, config and tokenizer, never of the path")
    attention: Attention = "native"
    pooling: Pooling = "mean"
    columns: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="what is known of it, for tables: size, objective, steps"
    )
    parameters: int | None = Field(None, description="count in the weight files")
    tokenizer: str | None = Field(None, description="folder of the tokenizer, where another one")
    weights: Literal["random"] | None = Field(
        None, description="drawn at random with the config in `path`; None: those in `path`"
    )

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of what can change a score; name, path and columns are left out."""
        return canonical_json(self.model_dump(include={"fingerprint", "attention", "pooling"}))


AnswerHead = Annotated[
    Literal["tagger"] | None, BeforeValidator(lambda value: None if value == "span" else value)
]
"""`span` is the default, and no knob."""


class Recipe(Spec):
    """Every number of a fine-tuning that can change a score."""

    learning_rate: float = Field(gt=0)
    max_steps: int = Field(1000, gt=0)
    max_epochs: float | None = Field(None, gt=0, description="whichever ends first; None: no limit")
    batch_size: int = Field(32, gt=0)
    schedule: Literal["linear", "cosine", "constant", "wsd"] = "linear"
    warmup_ratio: float = Field(0.1, ge=0, lt=1)
    decay_ratio: float | None = Field(
        None, gt=0, le=1, description="last part of a wsd schedule; wsd only, where it is needed"
    )
    weight_decay: float = Field(0.1, ge=0)
    decay_norms_and_biases: bool = False
    adam_betas: tuple[float, float] = (0.9, 0.95)
    adam_eps: float = Field(1e-5, gt=0)
    max_grad_norm: float | None = Field(1.0, gt=0, description="None: no clipping")
    precision: Precision = "fp32"
    batching: Literal["bucketed", "padded"] = Field(
        "bucketed",
        description="bucketed: like lengths together, within a window of shuffled batches",
    )
    bucket_batches: int = Field(50, gt=0, description="batches a shuffle window, when bucketed")
    micro_batch_tokens: int | None = Field(
        None, gt=0, description="padded tokens a forward pass; None: the whole batch at once"
    )
    dropout: float | None = Field(None, ge=0, lt=1, description="None: the checkpoint's own")
    temperature: float | None = Field(None, gt=0, description="retrieval only; None: 0.05")
    head: AnswerHead = Field(
        None, description="of answers; None: start and end; tagger: each token in it or not"
    )

    @field_validator("adam_betas")
    @classmethod
    def _betas_below_one(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError("each of the two must be at least 0 and below 1")
        return betas

    @model_validator(mode="after")
    def _decay_belongs_to_wsd(self) -> Recipe:
        if (self.decay_ratio is not None) != (self.schedule == "wsd"):
            raise ValueError("`decay_ratio` is given with `schedule: wsd`, and only there")
        if self.decay_ratio is not None and self.decay_ratio + self.warmup_ratio > 1:
            raise ValueError("`warmup_ratio` and `decay_ratio` add up to more than 1")
        return self

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of the recipe, without the knobs that are off or have nothing to turn."""
        idle = {"bucket_batches"} if self.batching == "padded" else set()
        return canonical_json(self.model_dump(mode="json", exclude=idle))

    def total_steps(self, examples: int) -> int:
        """Count the optimiser steps on a training split of that many examples."""
        if self.max_epochs is None:
            return self.max_steps
        steps_per_epoch = math.ceil(examples / self.batch_size)
        return max(1, min(self.max_steps, math.ceil(self.max_epochs * steps_per_epoch)))


class Run(Spec):
    """One fine-tuning: a task, a checkpoint, a recipe and a seed.

    `source` is the run whose final weights this one starts from; None: the checkpoint's own.
    """

    task: Task
    checkpoint: Checkpoint
    recipe: Recipe
    seed: int = Field(ge=0)
    source: str | None = Field(None, description="run_id")

    @cached_property
    def run_id(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical JSON of the run's identity."""
        source = "" if self.source is None else f'"source":"{self.source}",'
        text = (
            f'{{"checkpoint":{self.checkpoint.identity},"protocol":{PROTOCOL},'
            f'"recipe":{self.recipe.identity},"seed":{self.seed},{source}'
            f'"task":{self.task.identity}}}'
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]
