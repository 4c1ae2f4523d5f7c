"""A tree of result files as EncodEval writes it, with scores that a seed decides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

DATASETS = {
    "SC": ("mnli", "qqp", "sst2"),
    "TC": ("conll2003", "ontonotes5", "uner_en", "wnut17"),
    "QA": ("record", "squad", "squad_v2"),
    "IR": ("mldr", "msmarco", "nq"),
}
RATES = ("1e-05", "2e-05", "5e-05", "1e-04", "2e-04", "5e-04")
SEEDS = range(5)


def paper_names() -> list[str]:
    """Name the 38 checkpoints of the paper, and 12 intermediate ones."""
    objectives = ("clm", "mlm20", "mlm30", "mlm40", "mlm50")
    plain = [f"{size}-{name}-42k" for size in ("210m", "610m", "1b") for name in objectives]
    plain += [f"610m-{name}-{budget}" for name in ("clm", "mlm40") for budget in ("12k", "22k")]
    halves = (("12k", ("3k", "6k", "9k")), ("22k", ("6k", "12k", "18k")))
    two = [f"610m-clm-{part}-mlm40-{total}" for total, parts in halves for part in parts]
    two += [f"610m-clm-{part}-mlm40-42k" for part in ("10k", "20k", "30k")]
    two += [f"610m-clm-40k-{name}-42k" for name in objectives[1:]]
    two += [f"610m-{base}-dec42k-mlm40-{total}" for base in ("clm", "mlm40")
            for total in ("44k", "54k", "64k")]  # fmt: skip
    steps = [f"610m-{name}-42k-{step}" for name in ("clm", "mlm40") for step in (
        1000, 2000, 5000, 10000, 20000, 30000)]  # fmt: skip
    return [*plain, *two, *steps]


def cells(names: Iterable[str], datasets: dict[str, Sequence[str]] = DATASETS) -> list[Path]:
    """List the folders of all runs, below the tree's root."""
    return [
        Path(name, kind, dataset, f"{'msmarco_pairs_' * (kind == 'IR')}lr{rate}_sd{seed}")
        for name in names
        for kind, of_kind in datasets.items()
        for dataset in of_kind
        for rate in RATES
        for seed in SEEDS
    ]


def write_tree(root: Path, folders: Iterable[Path], examples: int = 20, seed: int = 0) -> None:
    """Write a results.json into each folder: half of the examples validation, half test."""
    generator = np.random.default_rng(seed)
    for folder in folders:
        scores = generator.random((2, examples)).round(4)
        content = {
            split: {"score": float(of_split.mean()), "scores_i": of_split.tolist()}
            for split, of_split in zip(("validation", "test"), scores, strict=True)
        }
        (root / folder).mkdir(parents=True)
        (root / folder / "results.json").write_text(json.dumps(content))
