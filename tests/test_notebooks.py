"""Every notebook runs on the studies that git keeps, and is kept without outputs."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

REPOSITORY = Path(__file__).parents[1]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
SECONDS = 120


def name_of(path: Path) -> str:
    return path.stem


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == [
        "dynamics",
        "leaderboard",
        "learning_rates",
        "recipes",
        "results",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_is_kept_without_outputs(path):
    cells = nbformat.read(path, as_version=4).cells
    kept = [
        number
        for number, cell in enumerate(cells)
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None)
    ]
    assert kept == [], f"clear the outputs of cells {kept} of {path.name}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    """A copy is run beside a copy of the published studies, so that nothing here can change."""
    shutil.copytree(REPOSITORY / "results" / "published", tmp_path / "results" / "published")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    shutil.copy(path, folder)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(folder / path.name, as_version=4)
    client = NotebookClient(
        notebook, timeout=SECONDS, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert shown, f"{path.name} shows nothing"
    figures = [cell for cell in shown if cell.source.startswith("draw_")]
    assert figures, f"{path.name} has no figure"
    for cell in figures:
        # Altair checked it against the schema of Vega-Lite; Vega drew it, without a network.
        (output,) = cell.outputs
        assert output.data["image/svg+xml"].startswith("<svg"), cell.source
