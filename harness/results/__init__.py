"""A study as pandas frames: its records, its scores, what is missing, and the tables."""

from __future__ import annotations

from harness.results.choosing import BY_VALIDATION, INCOMPLETE_TOO, PER_SEED, same_select
from harness.results.comparing import ALL_TASKS
from harness.results.direction import lower_is_better, lower_ones, name_together
from harness.results.frames import NOT_RUN
from harness.results.letters import LEVEL, letter_groups
from harness.results.study import Study, load_study

__all__ = [
    "ALL_TASKS",
    "BY_VALIDATION",
    "INCOMPLETE_TOO",
    "LEVEL",
    "NOT_RUN",
    "PER_SEED",
    "Study",
    "letter_groups",
    "load_study",
    "lower_is_better",
    "lower_ones",
    "name_together",
    "same_select",
]
