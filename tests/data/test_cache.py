"""Encoded features on disk."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from harness.data.cache import cache_key, cached
from harness.data.features import Encoded
from harness.errors import InputError

KEY = cache_key(data="a", length=3)


def features(first: int = 7) -> Encoded:
    return Encoded(
        token_ids=np.array([first, 8, 9], dtype=np.int32),
        starts=np.array([0, 2, 3]),
        example=np.array([0, 1]),
        type_ids=None,
        targets={"label": np.array([1, 0])},
        counts={"features": 2},
    )


def unwanted() -> Encoded:
    raise AssertionError("the entry is there")


def test_an_entry_is_built_once_and_then_mapped(tmp_path: Path) -> None:
    first = cached(tmp_path, KEY, features)
    again = cached(tmp_path, KEY, unwanted)
    for encoded in (first, again):
        assert isinstance(encoded.token_ids, np.memmap)
        assert not encoded.token_ids.flags.writeable
        assert encoded.token_ids.tolist() == [7, 8, 9]
        assert encoded.targets["label"].tolist() == [1, 0]
        assert encoded.type_ids is None
        assert encoded.counts == {"features": 2}
        assert encoded.lengths.tolist() == [2, 1]
        assert len(encoded) == 2


def test_keys_depend_on_every_part() -> None:
    keys = [KEY, cache_key(data="b", length=3), cache_key(data="a", length=4)]
    assert len(set(keys)) == 3
    assert cache_key(length=3, data="a") == KEY
    assert len(KEY) == 32


@pytest.mark.parametrize("damage", ["missing", "cut", "other", "no meta", "bad meta"])
def test_a_damaged_entry_is_built_again(tmp_path: Path, damage: str) -> None:
    cached(tmp_path, KEY, features)
    entry = tmp_path / "encoded" / KEY
    match damage:
        case "missing":
            (entry / "target.label.npy").unlink()
        case "cut":
            os.truncate(entry / "token_ids.npy", 136)
        case "other":
            np.save(entry / "token_ids.npy", np.zeros(2, dtype=np.int32))
        case "no meta":
            (entry / "meta.json").unlink()
        case "bad meta":
            (entry / "meta.json").write_text('{"arrays": {"token_ids"')
    assert cached(tmp_path, KEY, lambda: features(70)).token_ids.tolist() == [70, 8, 9]
    assert cached(tmp_path, KEY, unwanted).token_ids.tolist() == [70, 8, 9]
    assert [path.name for path in (tmp_path / "encoded").iterdir()] == [KEY]


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        cached(tmp_path, KEY, unwanted)
    assert not (tmp_path / "encoded").exists()


def test_a_cache_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "encoded").write_text("in the way")
    with pytest.raises(InputError, match="the cache can't be written"):
        cached(tmp_path, KEY, features)


def ask(cache: Path, number: int, gate: object, answers: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    found = [cached(cache, KEY, lambda: features(number)).token_ids.tolist() for _ in range(20)]
    answers.put(found)  # type: ignore[attr-defined]


def test_workers_that_ask_at_once_all_get_one_whole_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    gate, answers = context.Barrier(3), context.Queue()
    workers = [
        context.Process(target=ask, args=(tmp_path, number, gate, answers)) for number in range(3)
    ]
    for worker in workers:
        worker.start()
    found = [tuple(ids) for _ in workers for ids in answers.get(timeout=60)]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert len(set(found)) == 1
    assert [path.name for path in (tmp_path / "encoded").iterdir()] == [KEY]
