"""Modules of the `evaluate` library: small ones, written here, for each kind of task."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import TypeAdapter

from harness.errors import RunError, SpecError
from harness.metrics import check_metrics, modules, score
from harness.spec import Task

CARDS: dict[str, dict[str, Any]] = {
    "sequence_classification": {"text": "text", "labels": ["a", "b", "c"]},
    "sequence_regression": {"text": "text"},
    "token_classification": {"labels": ["PER", "LOC"]},
    "question_answering": {"unanswerable": True},
    "retrieval": {},
}
SQUAD = """{
    "predictions": {"id": datasets.Value("string"), "prediction_text": datasets.Value("string"),
                    "no_answer_probability": datasets.Value("float32")},
    "references": {"id": datasets.Value("string"), "answers": datasets.Sequence(
        {"text": datasets.Value("string"), "answer_start": datasets.Value("int32")})},
}"""


def pairs(value: str, references: str | None = None) -> str:
    return f'{{"predictions": {value}, "references": {references or value}}}'


LABELS = pairs('datasets.Value("int64")')
NUMBERS = pairs('datasets.Value("float64")')
TAGS = pairs('datasets.Sequence(datasets.Value("string"))')
TEXTS = pairs('datasets.Value("string")', 'datasets.Sequence(datasets.Value("string"))')
SHARE = "sum(p == r for p, r in zip(predictions, references)) / len(references)"


def card(kind: str, *metrics: str) -> Task:
    data = {"hub": {"path": "toy"}}
    fields = {"name": "toy", "kind": kind, "data": data, "metrics": metrics} | CARDS[kind]
    adapter: TypeAdapter[Task] = TypeAdapter(Task)
    return adapter.validate_python(fields)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of local modules; whatever `evaluate` keeps goes beside it."""
    evaluate = pytest.importorskip("evaluate")
    for name in ("HF_METRICS_CACHE", "HF_EVALUATE_CACHE"):
        monkeypatch.setattr(evaluate.config, name, tmp_path / "usual")
    made = tmp_path / "modules"
    monkeypatch.setenv(modules.FOLDER, str(made))
    return made


def write_module(folder: Path, name: str, features: str, result: str) -> None:
    """Write a module that gives `result`, an expression of `predictions` and `references`."""
    (folder / name).mkdir(parents=True)
    (folder / name / f"{name}.py").write_text(f"""\
import datasets
import evaluate


class Module(evaluate.Metric):
    def _info(self):
        features = datasets.Features({features})
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references):
        return {result}
""")


def labels(gold: list[int], prediction: list[int]) -> pd.DataFrame:
    logits = [[0.0, 0.0, 0.0]] * len(gold)
    return pd.DataFrame(
        {"split": "test", "id": "x", "gold": gold, "prediction": prediction, "logits": logits}
    )


def test_a_module_of_a_card_is_scored_beside_the_standard_metrics(folder: Path) -> None:
    write_module(folder, "share", LABELS, f'{{"share": {SHARE}}}')
    task = card("sequence_classification", "accuracy", "evaluate/share")
    check_metrics(task)
    scores = score(task, labels([0, 1, 2, 2], [0, 2, 2, 2]))["test"]
    assert scores["evaluate/share"] == scores["accuracy"] == 0.75
    assert type(scores["evaluate/share"]) is float


def test_every_split_is_given_to_the_module_by_itself(folder: Path) -> None:
    write_module(folder, "gap", NUMBERS, '{"gap": max(predictions) - max(references)}')
    task = card("sequence_regression", "evaluate/gap")
    check_metrics(task)
    frame = pd.DataFrame(
        {"split": ["validation", "test"], "id": "x", "gold": [1.0, 2.0], "prediction": [1.5, 4.0]}
    )
    assert score(task, frame, ["evaluate/gap"]) == {
        "validation": {"evaluate/gap": 0.5},
        "test": {"evaluate/gap": 2.0},
    }


def test_a_module_of_tags_is_given_the_tags_of_every_sentence(folder: Path) -> None:
    write_module(folder, "same", TAGS, f'{{"same": {SHARE}}}')
    task = card("token_classification", "evaluate/same")
    check_metrics(task)
    tags = [["B-PER", "O"], ["O"]]
    frame = pd.DataFrame(
        {"split": "test", "id": "x", "gold": tags, "prediction": [["O", "O"], ["O"]], "unseen": 0}
    )
    assert score(task, frame, ["evaluate/same"])["test"] == {"evaluate/same": 0.5}


def answers() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "split": "test",
            "id": ["q1", "q2"],
            "gold": [["oak", "an oak"], []],
            "prediction_text": ["oak", "elm"],
            "null_gap": [-1.0, 1.0],  # the second one is left without an answer
        }
    )


def test_a_module_of_answers_may_have_the_layout_of_squad(folder: Path) -> None:
    said = '"|".join(p["prediction_text"] for p in predictions) == "oak|"'
    wanted = '[r["answers"]["text"] for r in references] == [["oak", "an oak"], []]'
    trial = '[p["id"] for p in predictions] == ["0", "1"]'
    result = f'{{"right": float(({said} and {wanted}) or {trial})}}'
    write_module(folder, "official", SQUAD, result)
    task = card("question_answering", "evaluate/official/right")
    check_metrics(task)
    assert score(task, answers(), task.metrics)["test"]["evaluate/official/right"] == 1.0


def test_a_module_of_texts_is_given_all_golds(folder: Path) -> None:
    result = '{"any": sum(p in r for p, r in zip(predictions, references)) / len(references)}'
    write_module(folder, "any", TEXTS, result)
    task = card("question_answering", "evaluate/any")
    check_metrics(task)
    assert score(task, answers(), task.metrics)["test"]["evaluate/any"] == 1.0  # "" is in [""]


def fault(task: Task) -> str:
    with pytest.raises(SpecError) as caught:
        check_metrics(task)
    return str(caught.value)


def test_of_several_numbers_the_name_says_which(folder: Path) -> None:
    write_module(folder, "two", LABELS, '{"low": 1, "high": 2.5, "labels": [1]}')
    said = fault(card("sequence_classification", "evaluate/two"))
    assert said.endswith("name one of its numbers: evaluate/two/low, evaluate/two/high")
    assert "evaluate/two/high" in fault(card("sequence_classification", "evaluate/two/labels"))
    task = card("sequence_classification", "evaluate/two/high")
    check_metrics(task)
    assert score(task, labels([0], [0]), task.metrics)["test"] == {"evaluate/two/high": 2.5}


def test_the_number_of_the_modules_own_name_needs_no_key(folder: Path) -> None:
    write_module(folder, "own", LABELS, '{"other": 1.0, "own": 2.0}')
    task = card("sequence_classification", "evaluate/own")
    check_metrics(task)
    assert score(task, labels([0], [0]), task.metrics)["test"] == {"evaluate/own": 2.0}


def test_a_value_that_is_not_finite_is_absent(folder: Path) -> None:
    write_module(folder, "undefined", LABELS, '{"undefined": float("nan")}')
    task = card("sequence_classification", "evaluate/undefined")
    assert score(task, labels([0], [0]), task.metrics) == {"test": {}}


def test_a_module_that_wants_other_inputs_is_refused_when_the_card_is_checked(folder: Path) -> None:
    write_module(folder, "share", LABELS, f'{{"share": {SHARE}}}')
    said = fault(card("token_classification", "evaluate/share"))
    assert "the module share can't score a task of the kind token_classification" in said


def test_a_module_of_whole_numbers_is_no_module_of_a_regression(folder: Path) -> None:
    write_module(folder, "share", LABELS, f'{{"share": {SHARE}}}')
    said = fault(card("sequence_regression", "evaluate/share"))
    assert said.endswith("this module takes whole numbers, and the task predicts others")


def test_a_module_that_breaks_is_the_fault_of_its_run(folder: Path) -> None:
    write_module(folder, "broken", LABELS, '{"broken": 1 / (len(predictions) - 4)}')
    task = card("sequence_classification", "evaluate/broken")
    check_metrics(task)
    with pytest.raises(RunError, match=r"module broken can't score .* ZeroDivisionError"):
        score(task, labels([0] * 4, [0] * 4))


def test_a_module_that_can_not_be_read_is_refused(folder: Path) -> None:
    write_module(folder, "torn", LABELS, "{")
    said = fault(card("sequence_classification", "evaluate/torn"))
    assert "the module torn can't be loaded: SyntaxError" in said


def test_a_missing_module_is_named_with_suggestion_and_remedy(folder: Path) -> None:
    write_module(folder, "share", LABELS, f'{{"share": {SHARE}}}')
    said = fault(card("sequence_classification", "evaluate/shares"))
    assert "there is no module 'shares'; did you mean 'evaluate/share'?" in said
    assert "shares/shares.py below a folder that HARNESS_METRICS names" in said
    assert "`harness fetch`" in said


@pytest.mark.parametrize(
    "name", ["evaluate/", "evaluate/../x", "evaluate/someone/x/y", "evaluate/a b"]
)
def test_a_name_that_can_not_be_a_modules_is_refused(name: str) -> None:
    assert "must be evaluate/NAME" in fault(card("sequence_classification", name))


def test_rankings_have_no_modules() -> None:
    assert "scored by measures such as nDCG@10" in fault(card("retrieval", "evaluate/f1"))


def test_nothing_is_kept_in_the_cache_that_processes_share(folder: Path) -> None:
    write_module(folder, "share", LABELS, f'{{"share": {SHARE}}}')
    task = card("sequence_classification", "evaluate/share")
    score(task, labels([0, 1], [0, 1]), task.metrics)
    assert not (folder.parent / "usual").exists()
    assert "harness-evaluate-" in modules._load("share", str(folder)).data_dir


@pytest.mark.slow
def test_two_processes_that_use_a_module_at_once_do_not_mix_up_their_predictions(
    folder: Path,
) -> None:
    write_module(folder, "mean", NUMBERS, '{"mean": sum(predictions) / len(predictions)}')
    script = """
import sys
import pandas as pd
from harness.metrics import score
from tests.metrics.test_modules import card
own = float(sys.argv[1])
task = card("sequence_regression", "evaluate/mean")
frame = pd.DataFrame({"split": "test", "id": "x", "gold": own, "prediction": [own] * 50})
print({score(task, frame, task.metrics)["test"]["evaluate/mean"] for _ in range(20)})
"""
    both = [
        subprocess.Popen([sys.executable, "-c", script, own], stdout=subprocess.PIPE, text=True)
        for own in ("1.0", "2.0")
    ]
    assert [process.communicate()[0] for process in both] == ["{1.0}\n", "{2.0}\n"]
