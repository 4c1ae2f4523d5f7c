"""Outputs of a trained model that are no numbers.

A last step that is too large leaves weights from which nothing can be predicted, and no loss
follows that would show it. Metrics would refuse some such outputs and not see others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from harness.errors import DivergedError
from harness.models.batch import Batch
from harness.models.heads import AnyHead
from harness.spec import Precision


@contextmanager
def finite_outputs(head: AnyHead, steps: int, precision: Precision) -> Iterator[None]:
    """Watch what a head gives, on all tokens but padding; a GPU is waited for at the end alone.

    Raises:
        DivergedError: an output was not finite; `step` is the last of the training.
    """
    finite: list[torch.Tensor] = []

    def look(_: object, inputs: tuple[torch.Tensor, Batch], outputs: torch.Tensor) -> None:
        mask_BL = inputs[1].mask_BL
        if outputs.dim() == 3 and mask_BL is not None:  # an output a token: (B, L, 2)
            outputs = outputs.masked_fill(~mask_BL.unsqueeze(-1), 0.0)
        finite.append(outputs.isfinite().all())

    handle = head.register_forward_hook(look)
    fault: Exception | None = None
    try:
        yield
    except Exception as error:  # such outputs may break what is made of them, such as spans
        fault = error
    finally:
        handle.remove()
    if finite and not torch.stack(finite).all():
        raise DivergedError(
            f"diverged in step {steps} of {steps} in {precision}: the outputs after it are not "
            "finite",
            steps,
        ) from fault
    if fault is not None:
        raise fault
