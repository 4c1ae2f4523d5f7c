"""Names of folders: their order, what they are shortened to, and the columns that they tell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.checkpoints import discover
from harness.checkpoints.naming import (
    name_columns,
    natural_order,
    read_pattern,
    short_names,
    to_number,
)
from harness.errors import CheckpointError, InputError
from tests.checkpoints.files import write_checkpoint


@pytest.mark.parametrize(
    "ordered",
    [
        ["step9", "step10", "step1000"],
        ["step_500", "step_42k", "step_100000", "step_1m"],
        ["checkpoint-9", "checkpoint-1000"],
        ["epoch=1-step=1000", "epoch=3-step=500", "epoch=10-step=20"],
        ["210m-clm", "610m-clm", "1b-clm", "1.5b-clm", "3b-clm"],
        ["610m-clm-2k", "610m-clm-10k", "610m-mlm20-42k", "610m-mlm40-42k"],
        ["v1.9", "v1.10"],
        ["run2", "Run10"],
        ["9", "10"],
    ],
)
def test_names_are_ordered_by_their_numbers(ordered: list[str]) -> None:
    for given in (ordered, ordered[::-1], sorted(ordered)):
        assert sorted(given, key=lambda name: natural_order((name,))) == ordered


@pytest.mark.parametrize(
    ("text", "number"), [("42", 42), ("42k", 42_000), ("1.5M", 1_500_000), ("1b", 10**9)]
)
def test_counts_are_read_as_people_write_them(text: str, number: int) -> None:
    assert to_number(text) == number


def test_a_name_grows_until_it_tells_apart() -> None:
    paths = [("r", "a", "x", "m"), ("r", "b", "x", "m"), ("r", "b", "n")]
    assert short_names(paths) == ["a--x--m", "b--x--m", "n"]
    with pytest.raises(InputError, match=r"two checkpoints would be called 'a--b'"):
        short_names([("a", "b"), ("a", "b")])


@pytest.mark.parametrize(
    ("told", "columns"),
    [
        (("checkpoint-1000",), {"step": 1000}),
        (("step_42k",), {"step": 42_000}),
        (("global_step1000",), {"step": 1000}),
        (("iter_0001000",), {"step": 1000}),
        (("epoch=3-step=500",), {"step": 500, "epoch": 3}),
        (("pythia-70m@step512",), {"step": 512}),
        (("step1000-tokens2B",), {"step": 1000}),
        (("stepwise7",), {}),
        (("bert-base-uncased",), {}),
        (("minilm-l6-v2",), {}),
    ],
)
def test_a_step_in_a_name_is_a_column(told: tuple[str, ...], columns: dict[str, int]) -> None:
    assert name_columns(told) == columns


def test_the_grammar_and_the_step_of_a_folder_below_come_together() -> None:
    columns = name_columns(("610m-clm-10k-mlm40-42k", "checkpoint-20k"))
    assert columns == {
        "size": "610m",
        "objective": "clm",
        "steps": 10_000,
        "decayed": False,
        "objective_2": "mlm",
        "mask_ratio": 40,
        "total_steps": 42_000,
        "step": 20_000,
    }
    assert name_columns(("610m-mlm40-42k-1000",))["step"] == 1000
    assert name_columns(("610m-mlm40-42k",))["step"] == 42_000


def test_named_groups_of_a_pattern_are_columns_and_win() -> None:
    pattern = read_pattern(r"(?P<family>[a-z]+)-(?P<size>\d+m)-(?P<steps>\d+k)-(?P<rate>[\de.-]+)")
    columns = name_columns(("llama-60m-5k-1e-3", "step_7"), pattern)
    assert columns == {"family": "llama", "size": "60m", "steps": 5000, "rate": 1e-3, "step": 7}
    optional = re.compile(r"(?P<a>x)?y")
    assert name_columns(("y",), optional) == {}
    assert name_columns(("nan-inf",), re.compile(r"(?P<a>nan)-(?P<b>inf)")) == {
        "a": "nan",
        "b": "inf",
    }


@pytest.mark.parametrize(
    ("pattern", "message"), [("(", "no regular expression"), (r"(\d+)m", "names no column")]
)
def test_a_pattern_that_can_give_no_column_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_pattern(pattern)


def test_a_pattern_is_searched_in_the_path_and_must_fit_something(tmp_path: Path) -> None:
    for fill, name in enumerate(("big/step1", "big/step2", "small/step1")):
        write_checkpoint(tmp_path / name, fill=fill)
    found = discover(tmp_path, name_pattern=r"(?P<size>big|small)/step(?P<step>\d)")
    assert [(c.name, c.columns) for c in found.checkpoints] == [
        ("big--step1", {"size": "big", "step": 1}),
        ("big--step2", {"size": "big", "step": 2}),
        ("small--step1", {"size": "small", "step": 1}),
    ]
    (one,) = discover(tmp_path / "big/step1", name_pattern=r"(?P<size>big|small)/").checkpoints
    assert one.columns == {"size": "big", "step": 1}
    with pytest.raises(CheckpointError, match=r"fits no checkpoint here, such as 'big/step1'"):
        discover(tmp_path, name_pattern=r"(?P<size>huge)")
