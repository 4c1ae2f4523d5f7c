"""From native files or the hub to encoded features: loading, splitting, tokenising, caching."""

from harness.data.frames import Collection, Examples, count_examples, training_pairs
from harness.data.sources import load_examples

__all__ = ["Collection", "Examples", "count_examples", "load_examples", "training_pairs"]
