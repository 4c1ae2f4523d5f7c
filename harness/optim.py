"""The optimiser of a recipe: AdamW, what it decays, and how its rate moves."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import nn

from harness.spec import Recipe


def schedule_multiplier(recipe: Recipe, step: int, steps: int) -> float:
    """Give the factor on the learning rate in a step (0-based) of so many.

    Warm-up rises linearly from 0, over `ceil(warmup_ratio * steps)` steps. Then linear and cosine
    fall to 0 at the end, wsd stays at 1 and falls linearly over its last `ceil(decay_ratio *
    steps)` steps. Linear and cosine are those of transformers' `get_linear_schedule_with_warmup`
    and `get_cosine_...`.
    """
    warmup = math.ceil(recipe.warmup_ratio * steps)
    if step < warmup:
        return step / warmup
    if recipe.schedule == "constant":
        return 1.0
    if recipe.schedule == "wsd":
        assert recipe.decay_ratio is not None
        decay = max(1, math.ceil(recipe.decay_ratio * steps))
        return min(1.0, (steps - step) / decay)
    done = (step - warmup) / max(1, steps - warmup)
    if recipe.schedule == "linear":
        return 1.0 - done
    return 0.5 * (1.0 + math.cos(math.pi * done))


def make_optimiser(modules: Iterable[nn.Module], recipe: Recipe) -> torch.optim.AdamW:
    """Make the fused AdamW over the trained parameters of some modules.

    Vectors are the norms and biases: they decay only where the recipe says so.
    """
    trained = [p for module in modules for p in module.parameters() if p.requires_grad]
    decayed = [p for p in trained if p.ndim > 1 or recipe.decay_norms_and_biases]
    kept = [p for p in trained if p.ndim <= 1 and not recipe.decay_norms_and_biases]
    groups = [(decayed, recipe.weight_decay), (kept, 0.0)]
    return torch.optim.AdamW(
        [{"params": group, "weight_decay": decay} for group, decay in groups if group],
        lr=recipe.learning_rate,
        betas=recipe.adam_betas,
        eps=recipe.adam_eps,
        fused=True,
    )
