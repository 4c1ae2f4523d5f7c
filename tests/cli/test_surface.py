"""The commands and options that users script against, and what starting costs."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
import typer

from harness.cli import app

RUN = (
    "address attention checkpoints data-root gpus-per-run grid name-pattern pooling random-init "
    "retry-failed study tasks threads-per-run tokenizer workers"
)
OPTIONS = {
    "plan": " ".join(sorted([*RUN.split(), "half-width", "pilot"])),
    "run": RUN,
    "status": "",
    "table": "allow-incomplete also by format interval metric output select split where",
    "compare": "all also correction format interval metric output select split where",
    "rank": "also format metric output select split where",
    "sensitivity": "also format metric output split where",
    "export": "also format output where",
    "import encodeval": "study",
    "import csv": "columns kind metric study",
    "rescore": "metric",
    "checkpoints": "attention name-pattern pooling random-init tokenizer",
    "fetch": "checkpoints grid tasks",
    "demo": "address study workers",
    "tasks list": "tasks",
    "tasks show": "data-root tasks tokenizer",
    "tasks check": "data-root tasks tokenizer",
}


def commands(group: click.Group, prefix: str = "") -> dict[str, str]:
    found = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group) or hasattr(command, "commands"):
            found |= commands(command, f"{prefix}{name} ")
        else:
            long = {word[2:] for p in command.params for word in p.opts if word.startswith("--")}
            found[f"{prefix}{name}"] = " ".join(sorted(long - {"help"}))
    return found


def test_commands_and_options_are_those_that_are_documented() -> None:
    assert commands(typer.main.get_command(app)) == OPTIONS


@pytest.mark.parametrize("code", ["import harness", "import harness.cli"])
def test_starting_loads_neither_torch_nor_ray_nor_pandas(code: str) -> None:
    heavy = "{'torch', 'ray', 'transformers', 'datasets', 'pandas', 'numpy', 'pydantic'}"
    check = f"{code}; import sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", sorted(OPTIONS))
def test_help_explains_every_option(command: str, harness) -> None:
    said = harness(*command.split(), "--help")
    assert said.code == 0
    for option in OPTIONS[command].split():
        assert f"--{option}" in said.out
