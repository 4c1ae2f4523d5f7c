"""A folder, a list or a hub id -> checkpoints: what is there, in order, and what is skipped."""

from __future__ import annotations

from harness.checkpoints.describe import default_pooling
from harness.checkpoints.discovery import Discovery, Skipped, discover
from harness.fingerprints import default_cache

__all__ = ["Discovery", "Skipped", "default_cache", "default_pooling", "discover"]
