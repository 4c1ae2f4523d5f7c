"""checkpoints.yaml: what is known of folders, and rows that read one otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.checkpoints import discover
from harness.errors import CheckpointError, SpecError
from tests.checkpoints.files import LLAMA, write_checkpoint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path / "a" / "step1", LLAMA, fill=1)
    write_checkpoint(tmp_path / "b" / "step1", LLAMA, fill=2)
    write_checkpoint(tmp_path / "c", LLAMA, fill=3)
    return tmp_path


def say(root: Path, text: str) -> Path:
    (root / "checkpoints.yaml").write_text(text)
    return root


def test_any_key_becomes_a_column_and_wins_over_the_name(root: Path) -> None:
    say(root, "c: {label: C!, tokens: 100e9, seen: 3, final: yes, tied: true}\na/step1: {step: 7}")
    found = {c.name: c.columns for c in discover(root).checkpoints}
    assert found["c"] == {"label": "C!", "tokens": 100e9, "seen": 3, "final": "yes", "tied": True}
    assert found["c"]["tied"] is True
    assert found["a--step1"] == {"step": 7}
    assert found["b--step1"] == {"step": 1}


def test_attention_and_pooling_are_set_and_the_command_line_wins(root: Path) -> None:
    say(root, "c: {attention: bidirectional, pooling: first}")
    first = {c.name: (c.attention, c.pooling) for c in discover(root).checkpoints}
    assert first == {
        "a--step1": ("native", "last"),
        "b--step1": ("native", "last"),
        "c": ("bidirectional", "first"),
    }
    asked = discover(root / "c", attention="causal").checkpoints
    assert [(c.attention, c.pooling) for c in asked] == [("causal", "first")]


def test_a_row_with_a_folder_is_the_same_weights_read_otherwise(root: Path) -> None:
    say(root, "c-both: {folder: c, attention: bidirectional, note: turned}")
    *_, native, both = discover(root).checkpoints
    assert (native.name, native.attention, native.columns) == ("c", "native", {})
    assert (both.name, both.attention, both.pooling) == ("c-both", "bidirectional", "mean")
    assert both.columns == {"note": "turned"}
    assert both.fingerprint == native.fingerprint
    assert both.path == native.path
    assert both.identity != native.identity


def test_a_row_that_reads_its_folder_as_another_does_is_a_copy(root: Path) -> None:
    say(root, "again: {folder: c}")
    found = discover(root)
    assert len(found.checkpoints) == 3
    assert [(item.name, item.reason) for item in found.skipped] == [
        ("again", "has the same content as 'c', so it is the same checkpoint")
    ]


def test_the_file_holds_for_a_folder_that_is_given_itself(root: Path) -> None:
    say(root, "c: {family: x}\nc-both: {folder: c, attention: bidirectional}\na/step1: {step: 3}")
    assert [c.name for c in discover(root / "c").checkpoints] == ["c", "c-both"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a/step1: {}\ncc: {family: x}", r"yaml:2: cc: there is no folder 'cc' here; did you.*'c'"),
        ("step1: {step: 2}", r"yaml:1: step1: 'step1' is the name of a/step1, b/step1; write"),
        ("c: {atention: causal}", r"yaml:1: c: 'atention' is nearly 'attention'"),
        ("c: {attention: both}", r"yaml:1: c.attention: .*'both'"),
        ("c: {tokens: [1, 2]}", r"yaml:1: c.tokens"),
        ("c: {tokens: .nan}", r"yaml:1: c.tokens"),
        ("a--step1: {step: 2}\na/step1: {step: 3}", r"yaml:2: a/step1: step1 has an entry already"),
    ],
)
def test_a_fault_is_named_with_its_line(root: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        discover(say(root, text))


def test_a_row_can_not_take_the_name_of_another_checkpoint(root: Path) -> None:
    say(root, "a--step1: {folder: c, attention: bidirectional}")
    with pytest.raises(CheckpointError, match=r"two checkpoints are called 'a--step1'"):
        discover(root)
