"""Metrics of modules of the `evaluate` library: `evaluate/NAME` and `evaluate/NAME/KEY`.

NAME is a folder with NAME.py in it, below the folder that the variable HARNESS_METRICS names;
otherwise one of Hugging Face's own modules, `evaluate-metric/NAME` of the hub. A module is code: no
card can name one of somebody else on the hub. KEY is the number to take where the module gives
several. Its values stay on its own scale.
"""

from __future__ import annotations

import atexit
import difflib
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd

from harness.errors import RunError
from harness.metrics import answers
from harness.spec import QuestionAnswering, Task, TokenClassification

PREFIX = "evaluate/"
FOLDER = "HARNESS_METRICS"
"""The environment variable that names the folder of local modules."""

_NAME = re.compile(r"evaluate/([A-Za-z0-9]\w*)(?:/([\w.-]+))?", re.ASCII)
_Parts = Mapping[str, pd.DataFrame]


def fault(task: Task, name: str) -> str | None:
    """Say why a module can't score the task, None if it can: it is loaded and tried on a few rows.

    So a module that is missing, wants other inputs or gives several numbers is found before
    anything is trained.
    """
    if task.kind == "retrieval":
        return "a ranking is scored by measures such as nDCG@10, not by modules of `evaluate`"
    try:
        _compute(task, {"test": _made_up(task)}, name)
    except RunError as error:
        return str(error)
    return None


def score(task: Task, parts: _Parts, names: Iterable[str]) -> dict[str, dict[str, float]]:
    """Score all splits by modules: {split: {metric: value}}; a value that is not finite is absent.

    Raises:
        RunError: a module is missing, breaks, or does not give the number that its name asks for.
    """
    scores: dict[str, dict[str, float]] = {split: {} for split in parts}
    for name in names:
        for split, value in _compute(task, parts, name).items():
            if math.isfinite(value):
                scores[split][name] = value
    return scores


def _compute(task: Task, parts: _Parts, name: str) -> dict[str, float]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise RunError("must be evaluate/NAME or evaluate/NAME/KEY, such as evaluate/f1")
    module_name, key = match.groups()
    module = _load(module_name, os.environ.get(FOLDER))
    values = {}
    for split, (predictions, references) in _inputs(task, parts, module).items():
        try:
            result = module.compute(predictions=predictions, references=references)
        except Exception as error:  # foreign code may raise anything
            raise RunError(
                f"the module {module_name} can't score a task of the kind {task.kind}: "
                f"{type(error).__name__}: {error}"
            ) from error
        values[split] = _pick(result or {}, module_name, key)
    return values


def _pick(result: Mapping[str, Any], module_name: str, key: str | None) -> float:
    """Take the number under the key; without one that under the module's name, or the only one."""
    numbers = {name: float(value) for name, value in result.items() if isinstance(value, Real)}
    if key is None and len(numbers) == 1:
        key = next(iter(numbers))
    wanted = module_name if key is None else key
    if wanted not in numbers:
        choices = [f"{PREFIX}{module_name}/{name}" for name in numbers]
        raise RunError(f"name one of its numbers: {', '.join(choices) or 'it gives none'}")
    return numbers[wanted]


@cache
def _load(name: str, folder: str | None) -> Any:
    """Load a module, once a process; its data lie in memory and in a folder of this process alone.

    Modules that share the usual cache mix up what their processes add (evaluate#382).
    """
    path = _find(name, folder)
    import evaluate
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:  # `evaluate` has a switch of its own only, and would wait for the network
        evaluate.config.HF_EVALUATE_OFFLINE = True
    own = tempfile.mkdtemp(prefix="harness-evaluate-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    try:
        return evaluate.load(
            path,
            module_type="metric",
            keep_in_memory=True,
            cache_dir=own,
            experiment_id=f"{os.getpid()}-{uuid4().hex}",
            seed=0,
        )
    except (FileNotFoundError, ConnectionError):
        raise RunError(_missing(name, folder)) from None
    except Exception as error:  # foreign code may raise anything
        raise RunError(
            f"the module {name} can't be loaded: {type(error).__name__}: {error}"
        ) from error


def _find(name: str, folder: str | None) -> str:
    if folder is not None and (Path(folder) / name / f"{name}.py").is_file():
        return str((Path(folder) / name).resolve())
    return f"evaluate-metric/{name}"


def _missing(name: str, folder: str | None) -> str:
    known = [path.parent.name for path in Path(folder).glob("*/*.py")] if folder else []
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {PREFIX + close[0]!r}?" if close else "."
    return (
        f"there is no module {name!r}{hint} Put it at {name}/{name}.py below a folder that "
        f"{FOLDER} names, or load it once on a machine with internet (`harness fetch` does) and "
        "give this one the same HF_HOME"
    )


# --- what a module is given ----------------------------------------------------------------------


def _inputs(task: Task, parts: _Parts, module: Any) -> dict[str, tuple[list[Any], list[Any]]]:
    """Give predictions and references of each split, in the layout that the module wants."""
    features = module.features[0] if isinstance(module.features, list) else module.features
    if task.kind == "sequence_regression" and "int" in str(features["predictions"]):
        # `evaluate` would cut the fractions off and say nothing.
        raise RunError("this module takes whole numbers, and the task predicts others")
    if not isinstance(task, QuestionAnswering):
        return {
            split: (frame["prediction"].tolist(), frame["gold"].tolist())
            for split, frame in parts.items()
        }
    layout = _squad_layout if isinstance(features["predictions"], Mapping) else _plain_layout
    said = answers.final_texts(task, parts)
    return {split: layout(frame, said[split], features) for split, frame in parts.items()}


def _plain_layout(
    frame: pd.DataFrame, said: pd.Series[str], features: Any
) -> tuple[list[Any], list[Any]]:
    """Give a text and the list of its golds, [""] where there is none."""
    return said.tolist(), [list(golds) or [""] for golds in frame["gold"]]


def _squad_layout(
    frame: pd.DataFrame, said: pd.Series[str], features: Any
) -> tuple[list[Any], list[Any]]:
    """Give what the modules `squad` and `squad_v2` read, which make no use of `answer_start`."""
    predictions = [
        {"id": id_, "prediction_text": text} for id_, text in zip(frame["id"], said, strict=True)
    ]
    if "no_answer_probability" in features["predictions"]:
        # The threshold is applied already.
        predictions = [{**row, "no_answer_probability": 0.0} for row in predictions]
    references = [
        {"id": id_, "answers": {"text": list(golds), "answer_start": [-1] * len(golds)}}
        for id_, golds in zip(frame["id"], frame["gold"], strict=True)
    ]
    return predictions, references


def _made_up(task: Task) -> pd.DataFrame:
    """Make a few predictions of the kind, right ones, to try a module on."""
    rows: list[Any]
    if isinstance(task, QuestionAnswering):
        texts = ["oak tree", "elm"]
        return pd.DataFrame(
            {
                "id": ["0", "1"],
                "gold": [[text] for text in texts],
                "prediction_text": texts,
                "null_gap": 0.0,
            }
        )
    if isinstance(task, TokenClassification):
        rows = [list(task.tag_names), ["O", "O"]]
    elif task.kind == "sequence_regression":
        rows = [0.0, 1.0, 2.5]
    else:
        rows = list(range(len(task.labels)))  # type: ignore[union-attr]
    return pd.DataFrame({"gold": rows, "prediction": rows})
