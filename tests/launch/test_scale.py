"""A plan of the paper's size is printed in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.shipped import shipped_folder
from harness.toy import make_world
from tests.checkpoints.files import BERT, LLAMA, write_checkpoint

GRID = """\
name: paper
tasks: [{tasks}]
sweep: {{learning_rate: [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4]}}
seeds: [0, 1, 2, 3, 4]
recipe: {{max_steps: 1000, max_epochs: 1}}
"""
OBJECTIVES = ("clm", "mlm20", "mlm30", "mlm40", "mlm50")


def write_fifty(folder: Path) -> None:
    """Write 15 checkpoints of three sizes and 35 intermediate steps."""
    names = [f"{size}-{how}-42k" for size in ("210m", "610m", "1b") for how in OBJECTIVES]
    names += [f"610m-mlm40-42k-{step}000" for step in range(1, 36)]
    for fill, name in enumerate(names):
        write_checkpoint(folder / name, LLAMA if "clm" in name else BERT, fill=fill)


def write_twelve_cards(folder: Path) -> list[str]:
    """Copy the toy cards under twelve names."""
    folder.mkdir()
    cards = sorted((shipped_folder("tasks") / "toy").glob("*.yaml"))
    names = [f"{cards[number % len(cards)].stem}_{number}" for number in range(12)]
    for number, name in enumerate(names):
        card = cards[number % len(cards)]
        text = card.read_text().replace(f"name: {card.stem}", f"name: {name}", 1)
        (folder / f"{name}.yaml").write_text(text)
    return names


@pytest.mark.slow
def test_eighteen_thousand_runs_are_planned_in_under_five_seconds(tmp_path: Path) -> None:
    make_world(tmp_path)
    write_fifty(tmp_path / "ckpts")
    tasks = write_twelve_cards(tmp_path / "cards")
    (tmp_path / "paper.yaml").write_text(GRID.format(tasks=", ".join(tasks)))
    options = {
        "--checkpoints": "ckpts",
        "--grid": "paper.yaml",
        "--tasks": "cards",
        "--data-root": "data",
        "--study": "study",
    }
    arguments = [word for name, file in options.items() for word in (name, str(tmp_path / file))]
    code = "from harness.cli import main; main()"
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", code, "plan", *arguments], capture_output=True, text=True, check=True
    )
    after = os.times()
    assert "paper: 18,000 runs" in done.stdout
    assert "50 checkpoints x 12 tasks x 6 points x 5 seeds" in done.stdout
    assert "18,000 to run" in done.stdout
    # Seconds of computing, since others may use the machine as well.
    spent = after.children_user - before.children_user
    spent += after.children_system - before.children_system
    assert spent < 5


@pytest.mark.slow
def test_the_study_of_the_paper_is_planned_from_its_checkpoints_alone(tmp_path: Path) -> None:
    write_fifty(tmp_path / "ckpts")
    code = "from harness.cli import main; main()"
    arguments = ["--checkpoints", str(tmp_path / "ckpts"), "--grid", "paper_2507_00994.yaml"]
    done = subprocess.run(
        [sys.executable, "-c", code, "plan", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ
        | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path(harness.__file__).parents[1])},
    )
    assert "paper_2507_00994: 15,000 runs; 18,000 runs x test sets" in done.stdout
    assert "50 checkpoints x 10 tasks x 6 points x 5 seeds" in done.stdout
    assert done.stdout.count("stated by its card; not here") == 10
    assert "M tokens, roughly" in done.stdout
