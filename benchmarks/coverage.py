"""How often do the intervals of harness.stats hold the truth? Simulated studies, counted.

    python benchmarks/coverage.py [--quick] [--figure docs/coverage.svg]

An interval of nominal 95 % should hold the truth in 95 of 100 studies. The first table is of cells,
over numbers of seeds K, of test examples N, and shares of variance; the second of intervals that
join tasks, rates, steps or choices. Some minutes on one core, --quick about half a one. Exits with
1 where an interval over seeds, over seeds and examples, or of a difference leaves 93-97 % by more
than twice the error of counting so many studies.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from simulated_cells import DESIGNS, Claim, Design, claims
from simulated_studies import FAMILIES

PROMISED = ["seeds", "both", "difference"]
"""Columns of the first table within 93-97 %; the others show what goes wrong without."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer studies, no N = 5,000")
    parser.add_argument("--figure", type=Path, help="draw the first table to this SVG file")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)

    examples = (50, 500) if given.quick else (50, 500, 5_000)
    n_studies = 500 if given.quick else 2_000
    cells = cells_table(DESIGNS, (3, 5, 10), examples, n_studies, rng)
    print_table("Cells: coverage in % of intervals at nominal 95 %", cells)
    studies = studies_table((3, 5, 10), 100 if given.quick else 1_000, rng)
    print_table("Across tasks, rates, steps and choices: coverage in %, by seeds K", studies)

    if given.figure:
        draw(cells, given.figure)
    lowest, highest = cells[PROMISED].min().min(), cells[PROMISED].max().max()
    error = 100 * (0.95 * 0.05 / n_studies) ** 0.5
    print(f"{', '.join(PROMISED)}: {lowest:.1f} to {highest:.1f} %, each +/- {error:.1f}")
    return int(lowest < 93 - 2 * error or highest > 97 + 2 * error)


def cells_table(
    designs: Sequence[Design],
    seeds: Sequence[int],
    examples: Sequence[int],
    n_studies: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    rows = []
    for design, k, n in itertools.product(designs, seeds, examples):
        answers = "right or wrong" if design.right_or_wrong else "scores"
        key = {"answers": answers, "variance": design.name, "K": k, "N": n}
        rows.append(key | count(claims(design, k, n, n_studies, rng)))
    return pd.DataFrame(rows)


def studies_table(seeds: Sequence[int], n_studies: int, rng: np.random.Generator) -> pd.DataFrame:
    columns = {}
    for k in seeds:
        drawn = (family(k, rng) for family in FAMILIES for _ in range(n_studies))
        columns[f"K = {k}"] = count(itertools.chain.from_iterable(drawn))
    return pd.DataFrame(columns).rename_axis("interval").reset_index()


def count(stated: Iterable[Claim]) -> dict[str, float]:
    """Give the share of intervals that hold the truth, by name, in percent; open ends hold all."""
    hits: dict[str, list[bool]] = {}
    for name, interval, truth in stated:
        above = interval.low is None or interval.low <= truth
        below = interval.high is None or truth <= interval.high
        hits.setdefault(name, []).append(above and below)
    return {name: 100 * float(np.mean(held)) for name, held in hits.items()}


def print_table(title: str, table: pd.DataFrame) -> None:
    print(f"\n{title}\n")
    print(table.to_string(index=False, float_format=lambda value: f"{value:.1f}"), flush=True)
    print()


def draw(cells: pd.DataFrame, path: Path) -> None:
    """Draw a dot for every row and interval, the promised band behind them."""
    import altair as alt

    names = {
        "seeds": "seeds: other seeds",
        "both": "both: other seeds and examples",
        "difference": "difference of two checkpoints",
        "percentiles": "multi-bootstrap, plain percentiles",
        "seeds, asked for both": "seeds, read as other seeds and examples",
    }
    long = cells.melt(["answers", "variance", "K", "N"], list(names), "interval", "coverage")
    long["interval"] = long["interval"].map(names)
    long["where"] = long["K"].astype(str) + " seeds, " + long["N"].astype(str) + " examples"
    rows = sorted(long["where"].unique(), key=lambda where: [int(w) for w in where.split()[::2]])
    shown = alt.Scale(domain=[45, 100])
    dots = (
        alt.Chart()
        .mark_circle(size=30, opacity=0.6)
        .encode(
            x=alt.X("coverage:Q", title="coverage, %", scale=shown),
            y=alt.Y("where:N", title=None, sort=rows),
            color=alt.Color("answers:N", title="answers"),
        )
    )
    # Data of its own, so that the band is drawn once a panel and not once a dot.
    band = alt.Chart(pd.DataFrame({"low": [93], "high": [97]}))
    band = band.mark_rect(opacity=0.25, color="green").encode(
        x=alt.X("low:Q", scale=shown), x2="high:Q"
    )
    panel = alt.layer(band, dots, data=long).properties(width=300, height=150)
    chart = panel.facet(alt.Facet("interval:N", title=None, sort=list(names.values())), columns=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.save(path)


if __name__ == "__main__":
    sys.exit(main())
