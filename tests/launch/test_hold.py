"""A study has one driver on a machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import StudyError
from harness.launch.hold import DRIVER_FILE, hold_study
from harness.launch.lifeline import this_process

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are watched through /proc"
)

HOLD = (
    "import sys; from pathlib import Path; from harness.launch.hold import hold_study\n"
    "with hold_study(Path(sys.argv[1])): print('held', flush=True); input()"
)


def start_holder(study: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(study)]
    child = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_driver_says_who_it_is_and_leaves_nothing_behind(tmp_path: Path) -> None:
    study = tmp_path / "study"
    with hold_study(study):
        assert [path.name for path in study.iterdir()] == [DRIVER_FILE]
        told = json.loads((study / DRIVER_FILE).read_text())
        me = this_process()
        assert (told["pid"], told["started"], told["space"]) == (me.pid, me.started, me.space)
        assert told["host"]
    assert list(study.iterdir()) == []


def test_a_second_driver_is_refused_and_a_killed_one_is_succeeded(tmp_path: Path) -> None:
    with start_holder(tmp_path) as child:
        refusal = rf"another harness run \(pid {child.pid}\) is working on this study"
        with pytest.raises(StudyError, match=refusal), hold_study(tmp_path):
            pass
        child.kill()
    assert (tmp_path / DRIVER_FILE).exists()
    with hold_study(tmp_path):
        assert json.loads((tmp_path / DRIVER_FILE).read_text())["pid"] == this_process().pid
    assert list(tmp_path.iterdir()) == []


def test_a_driver_that_fails_leaves_the_study_free(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), hold_study(tmp_path):
        raise KeyboardInterrupt
    with hold_study(tmp_path):
        pass


@pytest.mark.parametrize(
    "text",
    ['{"host": "far", "space": "another machine", "pid": 1, "started": "1"}', '{"host"', "3", ""],
)
def test_a_driver_elsewhere_and_a_file_that_says_nothing_stop_nobody(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / DRIVER_FILE).write_text(text)
    with hold_study(tmp_path):
        assert json.loads((tmp_path / DRIVER_FILE).read_text())["pid"] == this_process().pid


def test_the_file_of_a_driver_that_came_later_is_left_to_it(tmp_path: Path) -> None:
    later = '{"host": "far", "space": "another machine", "pid": 1, "started": "1"}'
    with hold_study(tmp_path):
        (tmp_path / DRIVER_FILE).write_text(later)
    assert (tmp_path / DRIVER_FILE).read_text() == later


def test_a_study_that_can_not_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="can't be written"), hold_study(tmp_path / "file"):
        pass
