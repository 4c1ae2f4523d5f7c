"""The exceptions of harness.

HarnessError               yours to fix: prints without a traceback, exit code 2
├── InputError             a file or a value given by you is wrong
│   ├── SpecError          a YAML file has faults; all of them, each at file:line: key
│   ├── DataError          a data file is missing, unreadable, empty or not what its card says
│   │   └── AbsentDataError none of a task's data are here, on disk or from the hub
│   ├── CheckpointError    a checkpoint folder can't be used
│   └── StudyError         a study folder does not fit what is asked of it
└── RunError               one run can't be completed; becomes that run's record
    ├── DivergedError      the loss or a gradient is no longer finite
    └── WorkerLostError    a process can execute no further run (harness.execute)
        └── StudyLostError the study can't be written any more: nothing goes on

Anything else that escapes is a fault of harness itself and prints with its traceback.
"""

from __future__ import annotations


class HarnessError(Exception):
    """Something that the user can put right; the message says what and how."""


class InputError(HarnessError):
    """A file or a value that was given is wrong."""


class SpecError(InputError):
    """A YAML file has faults; the message lists every one, a line each."""


class DataError(InputError):
    """A data file is missing, unreadable, empty, or not what its card says."""


class AbsentDataError(DataError):
    """None of a task's data are on this machine, and the hub does not give them."""


class CheckpointError(InputError):
    """A checkpoint can't be used."""


class StudyError(InputError):
    """A study folder does not fit what is asked of it."""


class RunError(HarnessError):
    """One run can't be completed."""


class DivergedError(RunError):
    """The loss or the gradient norm of a run is no longer finite; `step` says when (1-based)."""

    def __init__(self, message: str, step: int) -> None:
        super().__init__(message)
        self.step = step

    def __reduce__(self) -> tuple[type[DivergedError], tuple[str, int]]:
        return type(self), (str(self), self.step)
