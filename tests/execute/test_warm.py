"""A worker keeps what it used last, and no more."""

from __future__ import annotations

from harness.execute.warm import Recent


def test_a_value_is_made_once() -> None:
    made: list[str] = []
    recent: Recent[str] = Recent(2)
    for key in ("a", "b", "a", "b"):
        recent.get(key, lambda key=key: made.append(key) or key.upper())
    assert made == ["a", "b"]


def test_the_value_unused_for_longest_leaves_first() -> None:
    recent: Recent[int] = Recent(2)
    for key in ("a", "b", "a", "c"):
        recent.get(key, lambda: 1)
    assert recent.get("a", lambda: 2) == 1
    assert recent.get("b", lambda: 2) == 2


def test_what_was_forgotten_is_made_again() -> None:
    recent: Recent[int] = Recent(1)
    recent.get("a", lambda: 1)
    recent.clear()
    assert recent.get("a", lambda: 2) == 2
