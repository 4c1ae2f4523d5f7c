"""A run, start to record: the only pipeline.

`harness.execute.worker.Worker` executes runs, and loads torch and transformers; what is here loads
neither, so that a driver which only schedules stays small.
"""

from harness.execute.record import (
    StudyLostError,
    WorkerLostError,
    Workplace,
    write_blocked_run,
    write_lost_run,
)

__all__ = [
    "StudyLostError",
    "WorkerLostError",
    "Workplace",
    "write_blocked_run",
    "write_lost_run",
]
