"""Hold-out and limits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.data.splits import hold_out, limit_rows
from harness.spec import HoldOut, Limit


@given(st.integers(2, 300), st.floats(0.001, 0.999), st.integers(0, 5))
def test_every_row_is_in_exactly_one_part_in_file_order(
    count: int, fraction: float, seed: int
) -> None:
    train, validation = hold_out(count, HoldOut(fraction=fraction, seed=seed))
    assert sorted([*train, *validation]) == list(range(count))
    assert len(train) >= 1
    assert len(validation) >= 1
    assert (np.diff(train) > 0).all()
    assert (np.diff(validation) > 0).all()


def test_the_hold_out_is_the_tasks_and_never_changes() -> None:
    # Literal rows: another draw would give every study other splits.
    train, validation = hold_out(20, HoldOut(fraction=0.25, seed=42))
    assert validation.tolist() == [5, 10, 12, 15, 18]
    assert len(train) == 15
    assert hold_out(20, HoldOut(fraction=0.25, seed=43))[1].tolist() != [5, 10, 12, 15, 18]


def test_a_limit_keeps_a_sample_in_file_order() -> None:
    limit = Limit(test=5, seed=1)
    rows = limit_rows(100, limit, "test")
    assert len(rows) == 5
    assert (np.diff(rows) > 0).all()
    assert rows.tolist() != [0, 1, 2, 3, 4]
    assert limit_rows(100, limit, "test").tolist() == rows.tolist()
    assert limit_rows(100, limit, "train").tolist() == list(range(100))
    assert limit_rows(3, limit, "test").tolist() == [0, 1, 2]
    assert limit_rows(3, None, "test").tolist() == [0, 1, 2]
