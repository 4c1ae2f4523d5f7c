"""The one training loop, for all kinds of task.

plan the batches -> for each: forward, backward, clip, step. Nothing in it waits for a GPU, except a
look at the losses every `CHECK_EVERY` steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from harness.batching import plan_steps, split_by_tokens
from harness.errors import DivergedError
from harness.models.backbone import Backbone, cast_parameters
from harness.models.batch import Batch, collate, flat_places
from harness.models.contrastive import KnownPairs, Side, backward_pairs
from harness.models.heads import AnyHead, Head, compute_outputs
from harness.models.vocabulary import UnreadRows, only_rows
from harness.optim import make_optimiser, schedule_multiplier
from harness.seeding import numpy_generator, seed_dropout
from harness.spec import TEMPERATURE, Precision, Recipe, Retrieval, Task

if TYPE_CHECKING:
    from harness.data.encode import Encoded, EncodedCollection

CHECK_EVERY = 50
"""Steps between two looks at the losses on a GPU; on a CPU looking costs nothing."""

OnStep = Callable[[int, int], None]


@dataclass(frozen=True)
class TrainStats:
    """What a training did: counts, losses of the first and last step, host seconds by phase.

    `examples` and `tokens` are those seen, repetitions included (pairs and the tokens of both
    sides, for retrieval). `phases` are `plan`, `compute` (forward and backward) and `update`; on a
    GPU, where work is queued, they say how long the host took to ask for it.
    """

    steps: int
    examples: int
    tokens: int
    loss_first: float
    loss_last: float
    seconds: float
    phases: dict[str, float]


def train(
    backbone: Backbone,
    head: AnyHead,
    task: Task,
    recipe: Recipe,
    encoded_train: Encoded | EncodedCollection,
    *,
    seed: int,
    device: str,
    pairs: NDArray[np.int64] | None = None,
    on_step: OnStep | None = None,
) -> TrainStats:
    """Fine-tune a backbone, fresh from `reset`, with its new head, in place.

    `pairs` (n, 2) are rows of queries and documents, for retrieval. `on_step` is called with (steps
    done, steps in all). Results depend on the arguments alone, not on what happened in this process
    before.

    Raises:
        DivergedError: the loss or the gradient norm was no longer finite.
    """
    begin = time.perf_counter()
    work: _Pairs | _Features
    if isinstance(task, Retrieval):
        assert pairs is not None, "retrieval trains on pairs"
        collection = cast("EncodedCollection", encoded_train)
        work = _Pairs(backbone, head, recipe, device, collection, pairs)
    else:
        work = _Features(backbone, head, recipe, device, cast("Encoded", encoded_train))
    plan = plan_steps(work.lengths, recipe, numpy_generator(seed, "order"))
    _prepare(backbone, head, recipe, device)
    seed_dropout(seed)
    # Rows of bf16 weights would round at every step where the one product of their decay rounds
    # once.
    rows: AbstractContextManager[UnreadRows] = nullcontext(UnreadRows())
    if recipe.precision != "bf16_pure":
        rows = only_rows(backbone.module, work.read(plan))
    try:
        with rows as unread:
            planned = time.perf_counter()
            losses, phases = _loop(work, plan, unread, on_step)
    finally:
        backbone.module.eval()
        head.eval()
    return TrainStats(
        steps=len(plan),
        examples=sum(map(len, plan)),
        tokens=int(sum(work.lengths[batch].sum() for batch in plan)),
        loss_first=losses[0],
        loss_last=losses[-1],
        seconds=time.perf_counter() - begin,
        phases={"plan": planned - begin} | phases,
    )


def _prepare(backbone: Backbone, head: AnyHead, recipe: Recipe, device: str) -> None:
    """Bring both to the device, the precision and the dropout of the recipe."""
    backbone.module.to(device)
    head.to(device)
    if recipe.precision == "bf16_pure":
        cast_parameters(backbone.module, torch.bfloat16)
        cast_parameters(head, torch.bfloat16)
    backbone.set_dropout(recipe.dropout)
    head.dropout.p = backbone.head_dropout
    backbone.module.train()
    head.train()


def _loop(
    work: _Features | _Pairs,
    plan: list[NDArray[np.int64]],
    unread: UnreadRows,
    on_step: OnStep | None,
) -> tuple[tuple[float, float], dict[str, float]]:
    """Take all steps; return the first and last loss, and the seconds."""
    recipe = work.recipe
    optimiser = make_optimiser([work.backbone.module, work.head], recipe)
    trained = [p for group in optimiser.param_groups for p in group["params"]]
    watch = _Watch(len(plan), work.device, recipe.precision)
    computing = updating = 0.0
    for step, rows in enumerate(plan):
        begin = time.perf_counter()
        loss = work.backward(rows)
        computed = time.perf_counter()
        gradients = [p.grad for p in trained if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if recipe.max_grad_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(trained, recipe.max_grad_norm, norm)
        watch.note(step, loss, norm)
        rate = recipe.learning_rate * schedule_multiplier(recipe, step, len(plan))
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        unread.decay(rate, recipe.weight_decay)
        computing += computed - begin
        updating += time.perf_counter() - computed
        if on_step is not None:
            on_step(step + 1, len(plan))
    return watch.losses(), {"compute": computing, "update": updating}


class _Watch:
    """Keeps the loss and gradient norm of each step on the device; looks at them now and then."""

    def __init__(self, steps: int, device: str, precision: Precision) -> None:
        self._precision = precision
        self._values = torch.zeros(steps, 2, device=device)
        self._every = 1 if device == "cpu" else CHECK_EVERY
        self._seen = 0

    def note(self, step: int, loss: torch.Tensor, norm: torch.Tensor) -> None:
        self._values[step, 0] = loss
        self._values[step, 1] = norm
        done = step + 1
        if done % self._every == 0 or done == len(self._values):
            self._look(done)

    def _look(self, done: int) -> None:
        values = self._values[self._seen : done].cpu()
        broken = (~values.isfinite()).any(1).nonzero().flatten().tolist()
        if broken:
            step = self._seen + broken[0] + 1
            loss, norm = values[broken[0]].tolist()
            raise DivergedError(
                f"diverged in step {step} of {len(self._values)} in {self._precision}: "
                f"loss {loss:g}, gradient norm {norm:g}",
                step,
            )
        self._seen = done

    def losses(self) -> tuple[float, float]:
        return self._values[0, 0].item(), self._values[-1, 0].item()


@dataclass
class _Work:
    """What every kind of work needs."""

    backbone: Backbone
    head: Any
    recipe: Recipe
    device: str

    def __post_init__(self) -> None:
        self.layout = self.backbone.layout(self.device)

    def _outputs(self, batch: Batch) -> torch.Tensor:
        precision = self.recipe.precision
        return compute_outputs(self.backbone, self.head, batch, precision, self.device)

    def _pieces(self, lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Split a batch where the recipe says so and it is too large: places in the batch."""
        limit = self.recipe.micro_batch_tokens
        if limit is None or len(lengths) * lengths.max() <= limit:
            return [np.arange(len(lengths))]
        return split_by_tokens(lengths, limit)


@dataclass
class _Features(_Work):
    """Steps over features that each have their own labels."""

    encoded: Encoded

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lengths = np.diff(self.encoded.starts)

    def read(self, plan: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Give the sorted token ids that some step reads."""
        return _read_ids(self.layout.pad_id, [(self.encoded, np.concatenate(plan))])

    def backward(self, rows: NDArray[np.int64]) -> torch.Tensor:
        """Compute the mean loss over the terms of the batch, and its gradient."""
        head: Head = self.head
        pieces = self._pieces(self.lengths[rows])
        batches = [collate(self.encoded, rows[piece], self.layout) for piece in pieces]
        terms = max(1, sum(head.terms(batch) for batch in batches))
        losses = []
        for batch in batches:
            loss = head.loss(self._outputs(batch), batch)[0] / terms
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss.detach())
        return losses[0] if len(losses) == 1 else torch.stack(losses).sum()


@dataclass
class _Pairs(_Work):
    """Steps over pairs of query and document; the other documents of a batch are the negatives."""

    collection: EncodedCollection
    pairs: NDArray[np.int64]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._sides = (self.collection.queries, self.collection.documents)
        self._lengths = [
            np.diff(side.starts)[self.pairs[:, column]] for column, side in enumerate(self._sides)
        ]
        self.lengths = self._lengths[0] + self._lengths[1]
        self._known = KnownPairs(self.pairs)

    def read(self, plan: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Give the sorted token ids that some step reads."""
        pairs = self.pairs[np.concatenate(plan)]
        sides = [(side, pairs[:, column]) for column, side in enumerate(self._sides)]
        return _read_ids(self.layout.pad_id, sides)

    def backward(self, rows: NDArray[np.int64]) -> torch.Tensor:
        """Compute the contrastive loss of the batch and its gradient."""
        pairs = self.pairs[rows]
        sides = []
        for column, encoded in enumerate(self._sides):
            places = self._pieces(self._lengths[column][rows])
            chosen = [pairs[piece, column] for piece in places]
            batches = [collate(encoded, choice, self.layout) for choice in chosen]
            sides.append(Side(batches, places))
        excluded = torch.from_numpy(self._known.not_negative(pairs)).to(self.device)
        temperature = self.recipe.temperature or TEMPERATURE
        return backward_pairs(self._outputs, sides[0], sides[1], excluded, temperature)


def _read_ids(pad_id: int, parts: list[tuple[Encoded, NDArray[np.int64]]]) -> NDArray[np.int64]:
    """Collect the distinct token ids of some rows, and the id that pads them, sorted."""
    ids = [
        np.unique(encoded.token_ids[flat_places(encoded, np.unique(rows))])
        for encoded, rows in parts
    ]
    return np.unique(np.concatenate([*ids, [pad_id]])).astype(np.int64)
