"""What is put on a backbone for each kind of task, each head with its loss.

A loss is the SUM of its terms with their number, so that batches that are split keep the exact
gradient: the caller divides by the number of terms of the whole batch. Losses are in fp32 in every
precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn
from torch.nn import functional

from harness.models.backbone import Backbone, autocast
from harness.models.batch import Batch
from harness.models.pooling import pool
from harness.spec import (
    AnswerHead,
    Precision,
    QuestionAnswering,
    Retrieval,
    SequenceClassification,
    SequenceRegression,
    Task,
    TokenClassification,
)


class Head(nn.Module, ABC):
    """Base of the heads: dropout, then a linear layer."""

    def __init__(self, hidden_size: int, outputs: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        # Its weights are drawn by `build_head`, from a generator; torch's own drawing would touch
        # the global one.
        self.linear: nn.Linear = nn.utils.skip_init(  # type: ignore[no-untyped-call]
            nn.Linear, hidden_size, outputs
        )

    @abstractmethod
    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Compute the outputs from the hidden states."""

    def project(self, vectors: torch.Tensor) -> torch.Tensor:
        """Apply dropout and the linear layer, in the precision of its weights."""
        outputs: torch.Tensor = self.linear(self.dropout(vectors.to(self.linear.weight.dtype)))
        return outputs

    @abstractmethod
    def loss(self, outputs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        """Give the sum of the loss terms of a batch, and how many terms those are."""

    def terms(self, batch: Batch) -> int:
        """Count the loss terms of a batch."""
        return len(batch)


class ClassificationHead(Head):
    """Scores of each class for a sequence: (B, classes); cross entropy."""

    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Pool, then score the classes: (B, classes)."""
        return self.project(pool(hidden_BLD, batch))

    def loss(self, outputs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        """Cross entropy, a term a sequence."""
        loss = functional.cross_entropy(outputs.float(), batch.targets["label"], reduction="sum")
        return loss, self.terms(batch)


class RegressionHead(Head):
    """One number for a sequence: (B,); squared error."""

    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Pool, then one number a sequence: (B,)."""
        return self.project(pool(hidden_BLD, batch)).squeeze(-1)

    def loss(self, outputs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        """Squared error, a term a sequence."""
        loss = functional.mse_loss(outputs.float(), batch.targets["label"], reduction="sum")
        return loss, self.terms(batch)


class TaggingHead(Head):
    """Scores of each tag for the first token of every word: (N, tags); cross entropy."""

    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Gather the tokens that begin a word, then score the tags: (N, tags)."""
        return self.project(hidden_BLD.flatten(0, 1)[batch.targets["word_position"]])

    def loss(self, outputs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        """Cross entropy, a term a word."""
        loss = functional.cross_entropy(outputs.float(), batch.targets["tag"], reduction="sum")
        return loss, self.terms(batch)

    def terms(self, batch: Batch) -> int:
        """Count the words."""
        return len(batch.targets["tag"])


class SpanHead(Head):
    """Scores of each token as start and as end of the answer: (B, L, 2).

    The null token stands for "no answer in this window" (Devlin et al. 2019, section 4.3).
    """

    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Score all tokens as start and as end: (B, L, 2), unmasked."""
        return self.project(hidden_BLD)

    def loss(self, outputs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        """Mean cross entropy of start and end, over context and null; a term a window."""
        possible_BL = batch.targets["context_BL"].scatter(1, batch.targets["null"][:, None], True)
        scores_BL2 = outputs.float().masked_fill(~possible_BL.unsqueeze(-1), float("-inf"))
        start = functional.cross_entropy(
            scores_BL2[..., 0], batch.targets["start"], reduction="sum"
        )
        end = functional.cross_entropy(scores_BL2[..., 1], batch.targets["end"], reduction="sum")
        return (start + end) / 2, self.terms(batch)


class AnswerTaggingHead(Head):
    """Scores of each token as outside and inside the answer: (B, L, 2); cross entropy.

    As arXiv 2507.00994 trains answers. A window shows the part of an answer that it holds.
    """

    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Score all tokens as outside and inside: (B, L, 2), unmasked."""
        return self.project(hidden_BLD)

    def loss(self, outputs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        """Cross entropy, a term a token of the context."""
        places_L = torch.arange(outputs.shape[1], device=outputs.device)
        places_BL = places_L - batch.targets["context_begin"][:, None]
        first_B1, last_B1 = (batch.targets[name][:, None] for name in ("gold_first", "gold_last"))
        inside_BL = (first_B1 >= 0) & (places_BL >= first_B1) & (places_BL <= last_B1)
        loss_BL = functional.cross_entropy(
            outputs.float().transpose(1, 2), inside_BL.long(), reduction="none"
        )
        return loss_BL.masked_fill(~batch.targets["context_BL"], 0.0).sum(), self.terms(batch)

    def terms(self, batch: Batch) -> int:
        """Count the tokens of contexts."""
        return batch.context_tokens


class EmbeddingHead(nn.Module):
    """A bi-encoder's embedding of a text: (B, D) of length one. It has no weights.

    Its loss is over pairs of batches: `models.contrastive`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.0)

    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Pool and normalise: (B, D), fp32."""
        return functional.normalize(pool(hidden_BLD, batch), dim=-1)


AnyHead = Head | EmbeddingHead


def compute_outputs(
    backbone: Backbone, head: AnyHead, batch: Batch, precision: Precision, device: str
) -> torch.Tensor:
    """Run backbone and head over a batch.

    Only the backbone computes in bf16 by autocast: outputs rounded to 8 bits would make ties.
    """
    with autocast(precision, device):
        hidden_BLD = backbone.hidden(batch)
    outputs: torch.Tensor = head(hidden_BLD, batch)
    return outputs


@torch.no_grad()
def build_head(
    task: Task,
    hidden_size: int,
    generator: torch.Generator,
    *,
    initializer_range: float = 0.02,
    answers: AnswerHead = None,
) -> AnyHead:
    """Make the head of a task: weights from a normal distribution by the generator, biases zero.

    `answers` is the recipe's `head`, for questions.
    """
    if isinstance(task, Retrieval):
        return EmbeddingHead()
    head = _bare_head(task, hidden_size, answers)
    head.linear.weight.normal_(0.0, initializer_range, generator=generator)
    head.linear.bias.zero_()
    return head


def _bare_head(task: Task, hidden_size: int, answers: AnswerHead) -> Head:
    if isinstance(task, SequenceClassification):
        return ClassificationHead(hidden_size, len(task.labels))
    if isinstance(task, SequenceRegression):
        return RegressionHead(hidden_size, 1)
    if isinstance(task, TokenClassification):
        return TaggingHead(hidden_size, len(task.tag_names))
    assert isinstance(task, QuestionAnswering)
    return (AnswerTaggingHead if answers == "tagger" else SpanHead)(hidden_size, 2)
