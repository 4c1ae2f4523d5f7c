"""Executes runs one after another, warm. A fault in one becomes its record and touches no other.

The record is appended last: it is the commit point, and a run without one has not happened.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pandas as pd
import torch

from harness.data.encode import EncodedCollection, EncodedPart
from harness.errors import DivergedError
from harness.execute.kept import load_weights, save_weights
from harness.execute.outputs import finite_outputs
from harness.execute.record import (
    Clock,
    Record,
    StudyLostError,
    WorkerLostError,
    Workplace,
    describe_fault,
    describe_run,
    keep_finite,
    now,
)
from harness.execute.warm import Prepared, Warm
from harness.ledger import LedgerWriter
from harness.metrics import is_collapsed, score
from harness.models.heads import build_head
from harness.predict import predict
from harness.predictions import write_predictions
from harness.seeding import torch_generator
from harness.spec import Run
from harness.train import train

DISK_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""A disk that is full, used up by this user, or read-only."""


class Worker:
    """Executes runs in this process; threads of torch are set here, once."""

    def __init__(
        self, workplace: Workplace, before_commit: Callable[[], None] = lambda: None
    ) -> None:
        torch.set_num_threads(workplace.threads)
        self._workplace = workplace
        self._before_commit = before_commit
        self._ledger = LedgerWriter(workplace.study)
        self._warm = Warm(workplace)

    def execute(self, run: Run) -> Record:
        """Execute a run; return its record, which is in the ledger by then, whatever happened.

        Raises:
            WorkerLostError: the device can't be used any more by this process.
            StudyLostError: a disk is full or read-only, or the ledger can't be written; no fault
                of the run, which has no record.
        """
        clock = Clock()
        record = describe_run(run, self._workplace)
        fault: Exception | None = None
        try:
            self._complete(run, record, clock)
            record["status"] = "ok"
        except DivergedError as error:
            record |= describe_fault(error)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in DISK_FAULTS:
                raise _study_lost(run, error) from error
            fault = error
            record |= describe_fault(error)
        record |= {"started": clock.started, "finished": now(), "seconds": clock.seconds()}
        self._before_commit()
        try:
            record = self._ledger.append(record)
        except OSError as error:
            raise _study_lost(run, error) from error
        if fault is not None:
            self._warm.forget()
            if _is_device_fault(fault):
                raise WorkerLostError(f"run {run.run_id}: {fault}") from fault
        return record

    def _complete(self, run: Run, record: Record, clock: Clock) -> None:
        """Prepare, train, predict, score, write; what is learnt on the way goes into the record."""
        workplace = self._workplace
        prepared = self._warm.prepare(run.task, run.checkpoint, clock)
        record |= _describe_data(prepared)
        predictions = self._predictions(run, prepared, record, clock)
        with clock.phase("score"):
            scores = keep_finite(score(run.task, predictions))
            collapsed = is_collapsed(run.task, predictions)
        with clock.phase("write"):
            write_predictions(workplace.study, run.run_id, predictions)
        record |= {"scores": scores, "collapsed": collapsed}

    def _predictions(
        self, run: Run, prepared: Prepared, record: Record, clock: Clock
    ) -> pd.DataFrame:
        """Train, then predict on every split but train; frames stacked, `split` first."""
        device = self._workplace.device
        backbone = prepared.loaded.backbone
        with clock.phase("reset"):
            backbone.reset()
            # A run that diverged leaves its last gradients behind, and they are not finite.
            backbone.module.zero_grad(set_to_none=True)
            if run.source is not None:
                load_weights(self._workplace.study, run.source, backbone)
            head = build_head(
                run.task,
                backbone.hidden_size,
                torch_generator(run.seed, "head"),
                initializer_range=backbone.initializer_range,
                answers=run.recipe.head,
            )
        with clock.phase("train"):
            stats = train(
                backbone,
                head,
                run.task,
                run.recipe,
                prepared.encoded["train"],
                seed=run.seed,
                device=device,
                pairs=prepared.pairs,
            )
        if run.run_id in self._workplace.keep:
            with clock.phase("write"):
                save_weights(self._workplace.study, run.run_id, backbone)
        record["steps"] = stats.steps
        record["counts"]["trained"] = {"examples": stats.examples, "tokens": stats.tokens}
        encoded = {split: part for split, part in prepared.encoded.items() if split != "train"}
        with (
            clock.phase("predict"),
            finite_outputs(head, stats.steps, run.recipe.precision),
        ):
            frames = predict(
                backbone,
                head,
                run.task,
                {split: prepared.examples.parts[split] for split in encoded},
                encoded,
                run.recipe,
                device=device,
                max_tokens=self._workplace.max_tokens,
            )
        return stack(frames)


def stack(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the predictions of splits under one another, with the name of the split first."""
    named = [frame.assign(split=split) for split, frame in frames.items()]
    stacked = pd.concat(named, ignore_index=True)
    return stacked[["split", *(name for name in stacked.columns if name != "split")]]


def _describe_data(prepared: Prepared) -> Record:
    counts = {role: _counts(part) for role, part in prepared.encoded.items()}
    for role, left_out in prepared.examples.left_out.items():
        counts[role]["left_out"] = left_out
    return {
        "sees_future": prepared.loaded.sees_future,
        "splits": dict(prepared.examples.fingerprints),
        "data_source": prepared.examples.source,
        "counts": counts,
    }


def _counts(part: EncodedPart) -> dict[str, Any]:
    if isinstance(part, EncodedCollection):
        return {"queries": dict(part.queries.counts), "documents": dict(part.documents.counts)}
    return dict(part.counts)


def _study_lost(run: Run, error: OSError) -> StudyLostError:
    return StudyLostError(
        f"run {run.run_id} can't be stored: {error}; put the disk in order and give the same "
        "command again: this run and the rest will be done"
    )


def _is_device_fault(fault: BaseException) -> bool:
    """Say whether the CUDA context is broken: every later call in this process would fail, too."""
    if isinstance(fault, torch.OutOfMemoryError):
        return False
    accelerator_error = getattr(torch, "AcceleratorError", ())
    return isinstance(fault, accelerator_error) or "CUDA error" in str(fault)
