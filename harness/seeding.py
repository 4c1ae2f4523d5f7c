"""The only place that seeds: one run seed gives named, independent child generators.

A child depends on the seed and its name alone, so results do not depend on the order of runs, on
what a worker did before, or on `PYTHONHASHSEED`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def child_seed(seed: int, name: str) -> int:
    """Derive a 63-bit seed from a seed and a name (the first bytes of a SHA-256)."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def numpy_generator(seed: int, name: str) -> np.random.Generator:
    """Make the NumPy generator of that name, for data order, splits and bootstraps."""
    return np.random.default_rng(child_seed(seed, name))


def torch_generator(seed: int, name: str) -> torch.Generator:
    """Make the torch CPU generator of that name, for the weights of a new head."""
    import torch

    generator = torch.Generator()
    generator.manual_seed(child_seed(seed, name))
    return generator


def seed_initialisation(seed: int) -> None:
    """Seed torch's own global generator for the library's initialisation, which takes no other."""
    import torch

    torch.manual_seed(child_seed(seed, "initialisation"))


def seed_dropout(seed: int) -> None:
    """Seed torch's own global generators on every device: dropout takes no generator argument."""
    import torch

    torch.manual_seed(child_seed(seed, "dropout"))
