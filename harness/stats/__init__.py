"""Statistics of scores: arrays in, numbers out; nothing here knows of files or frames."""

from __future__ import annotations

from harness.stats.intervals import Interval, student_t
from harness.stats.selection import Cell, Choice, choose, choose_and_report, is_at_edge

__all__ = [
    "Cell",
    "Choice",
    "Interval",
    "choose",
    "choose_and_report",
    "is_at_edge",
    "student_t",
]
