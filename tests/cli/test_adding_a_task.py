"""The page on adding a task is typed in, block by block, and works as it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.grid import load_grid
from harness.launch.local import run_local
from harness.launch.plan import make_plan
from harness.spec import Retrieval
from harness.tasks import load_tasks
from tests.conftest import REPOSITORY
from tests.small_world import SmallWorld

PAGE = (REPOSITORY / "docs" / "adding-a-task.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^(?:`(?P<file>[^`\n]+)`\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
KINDS = {"mood", "alike", "places", "manual", "shelf"}


def blocks(language: str) -> list[str]:
    return [m["text"] for m in BLOCK.finditer(PAGE) if m["language"] == language and not m["file"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, world: SmallWorld) -> Path:
    """All files of the page, and a folder of checkpoints."""
    root = tmp_path_factory.mktemp("page")
    for block in BLOCK.finditer(PAGE):
        if block["file"]:
            path = root / block["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")
    (root / "tasks" / "alike").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for code in blocks("python"):
            exec(compile(code, "adding-a-task.md", "exec"), {})
    (root / "ckpts").mkdir()
    (root / "ckpts" / "encoder").symlink_to(world.encoder.path)
    return root


def commands() -> list[str]:
    return [line for text in blocks("sh") for line in text.splitlines()]


@pytest.mark.parametrize("command", commands())
def test_each_command_does_what_the_page_says(
    command: str, folder: Path, harness: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    program, *arguments = command.split()
    assert program == "harness"
    said = harness(*arguments)
    assert said.code == 0, said.err
    if "alike" in command:
        assert "examples of test are in train" in said.out
    if "plan" in command:
        assert "1 checkpoints x 5 tasks x 2 points x 2 seeds" in said.out


def test_the_cards_are_one_of_each_kind_in_five_formats(folder: Path) -> None:
    cards = load_tasks([folder / "tasks"])
    own = [cards[name] for name in KINDS]
    assert len({card.kind for card in own}) == 5
    formats = {card.data.native.format for card in own if card.data.native}
    assert formats == {"csv", "parquet", "conll", "jsonl", "beir"}


def test_every_task_of_the_page_trains_and_is_scored(folder: Path, world: SmallWorld) -> None:
    grid = load_grid(folder / "mine.yaml", folder / "ckpts")
    assert {task.name for task in grid.tasks} == KINDS
    first = {name: recipes[:1] for name, recipes in grid.recipes.items()}
    grid = grid.model_copy(update={"seeds": (0,), "recipes": first})
    workplace = world.workplace(folder / "study")
    outcome = run_local(make_plan(grid, folder / "study"), workplace)
    assert (outcome.ok, outcome.failed) == (5, 0)


def test_the_snippets_are_keys_of_a_card(folder: Path) -> None:
    long_documents, test_sets, collections = blocks("yaml")
    more = {"mood": test_sets, "shelf": long_documents + collections}
    (folder / "more").mkdir()
    for name, snippet in more.items():
        text = (folder / "tasks" / f"{name}.yaml").read_text(encoding="utf-8") + snippet
        (folder / "more" / f"{name}.yaml").write_text(text, encoding="utf-8")
    cards = load_tasks([folder / "more"])
    assert cards["mood"].further == ("later",)
    shelf = cards["shelf"]
    assert isinstance(shelf, Retrieval)
    assert shelf.further == ("harbour",)
    assert shelf.overlap_of_passages("test") == shelf.overlap_of_passages("harbour") == 32
