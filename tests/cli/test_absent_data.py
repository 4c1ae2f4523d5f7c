"""A plan is whole without the data; a run is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Said
from tests.small_world import SmallWorld

GRID = """\
name: small
tasks: [toy_sentiment, elsewhere]
sweep: {learning_rate: [1e-3, 3e-3]}
seeds: [0, 1]
"""
CARD = """\
name: elsewhere
kind: sequence_classification
data: {native: {format: csv, train: elsewhere/train.csv, test: elsewhere/test.csv}}
text: [sentence]
labels: [no, yes]
metrics: [accuracy]
size:
  examples: {train: 900, validation: 100, test: 50}
  tokens: 20
"""


def test_plan_says_what_is_not_here_and_run_refuses(
    harness: Callable[..., Said], world: SmallWorld, tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(GRID)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "elsewhere.yaml").write_text(CARD)
    arguments = (
        "--grid", tmp_path / "small.yaml", "--checkpoints", world.folder / "encoder",
        "--data-root", world.folder / "data", "--study", tmp_path / "study",
    )  # fmt: skip
    said = harness("plan", *arguments)
    assert said.code == 0, said.err
    assert "small: 8 runs" in said.out
    assert "elsewhere: 900 train, 100 validation, 50 test" in said.out
    assert said.out.count("stated by its card; not here") == 1
    assert "tokens, roughly" in said.out
    assert "task elsewhere: elsewhere/train.csv, elsewhere/test.csv not found" in said.out
    refused = harness("run", *arguments, "--address", "local")
    assert refused.code == 2
    assert "task elsewhere" in refused.err
    assert not (tmp_path / "study").exists()
