"""Runs that start from other runs: planned seed by seed, executed after them, blocked by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter

from harness.checkpoints import discover
from harness.errors import RunError, SpecError
from harness.execute.kept import kept_weights, load_weights, save_weights
from harness.grid import FrozenGrid, Grid, freeze
from harness.launch.order import run_in_order
from harness.launch.outcome import Outcome
from harness.launch.plan import Plan, make_plan
from harness.launch.run import LOCAL, Place, run
from harness.ledger import LedgerWriter, latest_records, read_ledger
from harness.models.backbone import load_backbone
from harness.predictions import read_predictions
from harness.results import load_study
from harness.spec import Run, StartFrom
from tests.small_study import SST2, STSB, record_of, small_grid
from tests.small_world import SmallWorld

STARTED = STSB.model_copy(update={"start_from": StartFrom(task="sst2")})


def started_grid(**changes: Any) -> FrozenGrid:
    return small_grid(**({"tasks": (SST2, STARTED)} | changes))


def write(study: Path, *records: dict[str, Any]) -> None:
    with LedgerWriter(study) as ledger:
        for record in records:
            ledger.append(record)


def keep(study: Path, *runs: Run) -> None:
    for one in runs:
        path = kept_weights(study, one.run_id)
        path.parent.mkdir(parents=True)
        path.touch()


def of(grid: FrozenGrid, task: str) -> list[Run]:
    return [one for one in grid.runs() if one.task.name == task]


# --- identity ----------------------------------------------------------------------


def test_a_run_starts_from_the_same_checkpoint_seed_and_rate() -> None:
    grid = started_grid()
    sources = {one.run_id: one for one in of(grid, "sst2")}
    for one in of(grid, "stsb"):
        source = sources[one.source or ""]
        assert (source.checkpoint, source.seed) == (one.checkpoint, one.seed)
        assert source.recipe.learning_rate == one.recipe.learning_rate


def test_the_source_is_part_of_the_identity_and_changes_that_run_alone() -> None:
    plain, started = small_grid(), started_grid()
    assert [r.run_id for r in of(plain, "sst2")] == [r.run_id for r in of(started, "sst2")]
    both = {r.run_id for r in of(plain, "stsb")} & {r.run_id for r in of(started, "stsb")}
    assert not both
    other = started_grid(tasks=(SST2.model_copy(update={"max_length": 8}), STARTED))
    assert not {r.run_id for r in of(other, "stsb")} & {r.run_id for r in of(started, "stsb")}


def test_a_fixed_rate_is_that_of_every_source() -> None:
    fixed = STSB.model_copy(update={"start_from": StartFrom(task="sst2", learning_rate=1e-4)})
    grid = small_grid(tasks=(SST2, fixed))
    wanted = {r.run_id for r in of(grid, "sst2") if r.recipe.learning_rate == 1e-4}
    assert {r.source for r in of(grid, "stsb")} == wanted


GRID: dict[str, Any] = {
    "name": "g",
    "tasks": ["sst2", "stsb"],
    "sweep": {"learning_rate": [1e-5, 1e-4]},
    "seeds": [0],
}


def frozen(world: SmallWorld, **changes: Any) -> FrozenGrid:
    grid = TypeAdapter(Grid).validate_python(GRID | changes)
    cards = {"sst2": SST2, "stsb": STSB}
    return freeze(grid, cards, discover(world.folder / "encoder"), Path("g.yaml"))


def test_a_grid_may_say_it_too(world: SmallWorld) -> None:
    grid = frozen(world, overrides=[{"tasks": ["stsb"], "start_from": "sst2"}])
    assert {r.source for r in of(grid, "stsb")} == {r.run_id for r in of(grid, "sst2")}


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("mnli", "start_from: 'mnli' is no task of this grid"),
        ("stsb", "task stsb: start_from: 'stsb' must start from the checkpoint itself"),
        ({"task": "sst2", "learning_rate": 7.0}, "sst2 has no run with learning_rate=7.0"),
    ],
)
def test_what_can_not_be_is_refused(world: SmallWorld, start: Any, message: str) -> None:
    with pytest.raises((SpecError, ValueError), match=message):
        frozen(world, overrides=[{"tasks": ["stsb"], "start_from": start}])


# --- plan --------------------------------------------------------------------------


def test_runs_wait_for_their_sources(tmp_path: Path) -> None:
    grid = started_grid()
    plan = make_plan(grid, tmp_path / "new")
    assert {r.task.name for r in plan.runs} == {"sst2"}
    assert {r.run_id for r in plan.waiting} == {r.run_id for r in of(grid, "stsb")}
    assert plan.sources == {r.run_id for r in of(grid, "sst2")}
    assert plan.to_run == plan.total == 24


def test_a_source_that_is_ok_with_its_weights_makes_a_run_ready(tmp_path: Path) -> None:
    grid = started_grid()
    source = of(grid, "sst2")[0]
    write(tmp_path, record_of(source, 0.5, 0.5))
    keep(tmp_path, source)
    plan = make_plan(grid, tmp_path)
    assert [r.source for r in plan.runs if r.task.name == "stsb"] == [source.run_id]
    assert len(plan.waiting) == 11


def test_a_source_whose_weights_are_gone_is_made_again_where_it_is_needed(tmp_path: Path) -> None:
    grid = started_grid()
    write(tmp_path, *(record_of(r, 0.5, 0.5) for r in of(grid, "sst2")))
    plan = make_plan(grid, tmp_path)
    assert len(plan.runs) == len(plan.waiting) == 12
    write(tmp_path, *(record_of(r, 0.5, 0.5) for r in of(grid, "stsb")))
    assert make_plan(grid, tmp_path).to_run == 0


def test_a_source_that_failed_or_diverged_blocks(tmp_path: Path) -> None:
    grid = started_grid()
    failed, diverged, *rest = of(grid, "sst2")
    write(tmp_path, *(record_of(r, 0.5, 0.5) for r in rest))
    keep(tmp_path, *rest)
    for one, status in ((failed, "failed"), (diverged, "diverged")):
        write(tmp_path, {"run_id": one.run_id, "status": status, "finished": "2025"})
    plan = make_plan(grid, tmp_path)
    assert {r.source for r in plan.blocked} == {failed.run_id, diverged.run_id}
    assert plan.newly_blocked == plan.blocked
    assert len(plan.runs) == 10
    retried = make_plan(grid, tmp_path, retry_failed=True)
    assert [r.source for r in retried.waiting] == [failed.run_id]
    assert [r.source for r in retried.blocked] == [diverged.run_id]


def test_those_that_waited_run_if_their_source_is_ok_by_then(tmp_path: Path) -> None:
    grid = started_grid(seeds=(0,), rates=(1e-5, 1e-4), checkpoints=small_grid().checkpoints[:1])
    good, bad = of(grid, "sst2")
    executed: list[list[Run]] = []
    blocked: list[Run] = []

    def execute(plan: Plan) -> Outcome:
        executed.append(list(plan.runs))
        for one in plan.runs:
            ok = one.run_id != bad.run_id
            record = record_of(one, 0.5, 0.5) if ok else {"run_id": one.run_id, "status": "failed"}
            write(tmp_path, {"finished": "2025", **record})
        return Outcome(ok=sum(r.run_id != bad.run_id for r in plan.runs))

    outcome = run_in_order(make_plan(grid, tmp_path), 1, execute, blocked.append)
    assert [[r.task.name for r in part] for part in executed] == [["sst2", "sst2"], ["stsb"]]
    assert executed[1][0].source == good.run_id
    assert [r.source for r in blocked] == [bad.run_id]
    assert (outcome.ok, outcome.blocked, outcome.left) == (2, 1, 0)


def test_an_interruption_leaves_those_that_wait(tmp_path: Path) -> None:
    plan = make_plan(started_grid(), tmp_path / "new")
    outcome = run_in_order(plan, 1, lambda _: Outcome(left=12, interrupted=True), lambda _: None)
    assert outcome == Outcome(left=24, interrupted=True)


# --- for real ----------------------------------------------------------------------


def toy_grid(world: SmallWorld, start: str | None, **changes: Any) -> FrozenGrid:
    tasks = dict(world.tasks)
    if start:
        update = {"start_from": StartFrom(task=start)}
        tasks["toy_similarity"] = tasks["toy_similarity"].model_copy(update=update)
    names = ("toy_sentiment", "toy_similarity")
    return world.grid(*names, **changes).model_copy(
        update={"tasks": tuple(tasks[name] for name in names)}
    )


def go(world: SmallWorld, grid: FrozenGrid, study: Path) -> Outcome:
    place = Place(data_root=world.folder / "data", cache=world.folder / "cache", address=LOCAL)
    return run(grid, study, place)


def test_a_run_starts_from_the_weights_that_its_source_ended_with(
    world: SmallWorld, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    grid = toy_grid(world, "toy_sentiment")
    assert go(world, grid, study) == Outcome(ok=2)
    first, second = read_ledger(study)
    assert (first["task"], second["source"]) == ("toy_sentiment", first["run_id"])
    assert "source" not in first
    assert not (study / "weights").exists() or not list((study / "weights").iterdir())
    alone = tmp_path / "alone"
    assert go(world, toy_grid(world, None), alone) == Outcome(ok=2)
    others = {record["task"]: record for record in read_ledger(alone)}
    assert others["toy_sentiment"]["scores"] == first["scores"]
    mine = read_predictions(study, second["run_id"])
    theirs = read_predictions(alone, others["toy_similarity"]["run_id"])
    assert not mine["prediction"].equals(theirs["prediction"])
    assert go(world, grid, study) == Outcome()


def test_weights_come_back_as_they_were_kept(world: SmallWorld, tmp_path: Path) -> None:
    backbone = load_backbone(world.encoder)
    with torch.no_grad():
        for parameter in backbone.module.parameters():
            parameter.add_(1.0)
    trained = {name: value.clone() for name, value in backbone.module.state_dict().items()}
    save_weights(tmp_path, "a", backbone)
    backbone.reset()
    load_weights(tmp_path, "a", backbone)
    for name, value in backbone.module.state_dict().items():
        assert torch.equal(value, trained[name])
    with pytest.raises(RunError, match="weights of the run to start from can't be read"):
        load_weights(tmp_path, "b", backbone)


def test_a_source_that_diverges_blocks_and_is_said(world: SmallWorld, tmp_path: Path) -> None:
    study = tmp_path / "study"
    grid = toy_grid(world, "toy_sentiment", rates=(1e30,))
    assert go(world, grid, study) == Outcome(diverged=1, blocked=1)
    records = {record["task"]: record for record in latest_records(read_ledger(study)).values()}
    blocked = records["toy_similarity"]
    assert (blocked["status"], "scores" in blocked) == ("blocked", False)
    assert records["toy_sentiment"]["run_id"] in blocked["error"]["message"]
    reasons = load_study(study).missing["reason"].tolist()
    assert f"blocked by run {blocked['source']}" in reasons
    assert go(world, grid, study) == Outcome()
    assert len(read_ledger(study)) == 2
