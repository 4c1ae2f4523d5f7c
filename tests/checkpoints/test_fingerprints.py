"""A checkpoint is known by its content alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import fingerprints
from harness.checkpoints import discover
from harness.fingerprints import default_cache, hash_file
from tests.checkpoints.files import BERT, weights, write_checkpoint


def fingerprint_of(folder: Path) -> str:
    return discover(folder).checkpoints[0].fingerprint


def test_the_fingerprint_does_not_know_path_or_time(tmp_path: Path) -> None:
    one, other = write_checkpoint(tmp_path / "one"), write_checkpoint(tmp_path / "other")
    os.utime(other / "model.safetensors", (1, 1))
    assert fingerprint_of(one) == fingerprint_of(other)
    assert len(fingerprint_of(one)) == 16


def test_the_fingerprint_is_pinned(tmp_path: Path) -> None:
    assert fingerprint_of(write_checkpoint(tmp_path / "one")) == "3e0c533a0cc765c7"


def test_where_and_with_what_a_config_was_written_does_not_count(tmp_path: Path) -> None:
    one = write_checkpoint(tmp_path / "one")
    noise = {"transformers_version": "4.8.2", "_name_or_path": "/home/me/x"}
    assert fingerprint_of(one) == fingerprint_of(write_checkpoint(tmp_path / "two", BERT | noise))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", '{"model_type": "bert", "hidden_act": "relu"}'),
        ("model.safetensors", None),
        ("tokenizer.json", '{"version": "2.0"}'),
        ("tokenizer_config.json", '{"do_lower_case": true}'),
        ("vocab.txt", "[PAD]\n"),
    ],
)
def test_the_content_of_every_part_counts(tmp_path: Path, file: str, content: str | None) -> None:
    one, other = write_checkpoint(tmp_path / "one"), write_checkpoint(tmp_path / "other")
    (other / file).write_bytes(weights(1) if content is None else content.encode())
    assert fingerprint_of(one) != fingerprint_of(other)


def test_a_null_in_a_config_is_not_the_same_as_nothing(tmp_path: Path) -> None:
    one = write_checkpoint(tmp_path / "one")
    other = write_checkpoint(tmp_path / "other", BERT | {"sliding_window": None})
    assert fingerprint_of(one) != fingerprint_of(other)


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files written just now count as old: their time of change can't be set back."""
    monkeypatch.setattr(fingerprints, "_RACY_SECONDS", -1.0)


@pytest.mark.usefixtures("settled")
def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    first = hash_file(file)
    (memo,) = (cache / "hashes").iterdir()
    assert memo.read_text() == first
    memo.write_text("remembered")
    assert hash_file(file) == "remembered"
    file.write_bytes(b"two")
    assert hash_file(file) not in {first, "remembered"}


@pytest.mark.usefixtures("settled")
def test_new_weights_of_the_same_size_and_time_get_a_new_hash(tmp_path: Path, cache: Path) -> None:
    """Copies by rsync, tar and cp keep the time of the content."""
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    os.utime(file, (1000, 1000))
    first = hash_file(file)
    file.write_bytes(b"two")
    os.utime(file, (1000, 1000))
    assert hash_file(file) != first
    assert len(list((cache / "hashes").iterdir())) == 2


def test_a_file_changed_just_now_is_not_remembered(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "weights").write_bytes(b"one")
    hash_file(tmp_path / "weights")
    assert not (cache / "hashes").exists()


def test_a_cache_that_can_not_be_written_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"one")
    os.utime(tmp_path / "file", (1000, 1000))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    assert len(hash_file(tmp_path / "file")) == 64


def test_the_cache_is_where_the_environment_says(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_cache() == cache
    monkeypatch.delenv("HARNESS_CACHE")
    assert fingerprints.default_cache() == Path.home() / ".cache" / "harness"
