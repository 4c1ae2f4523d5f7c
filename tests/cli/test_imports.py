"""Foreign results on the command line, and the published studies as tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Said
from tests.encodeval_tree import cells, write_tree

Harness = Callable[..., Said]
PUBLISHED = Path(__file__).parents[2] / "results" / "published"


def test_a_tree_of_encodeval_is_imported_and_read(harness: Harness, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    folders = cells(["610m-clm-42k", "610m-mlm40-42k"], {"SC": ("sst2",), "QA": ("squad",)})
    write_tree(tree, folders[:-1])
    said = harness("import", "encodeval", tree, "--study", tmp_path / "study")
    assert said.code == 0, said.err
    assert "119 runs with scores, 0 broken, 1 missing" in said.out
    table = harness("table", tmp_path / "study", "--by", "objective", "--by", "kind")
    assert "clm" in table.out
    assert "(5/5)" in table.out
    compared = harness("compare", tmp_path / "study", "610m-clm-42k", "610m-mlm40-42k")
    assert "(all tasks)" in compared.out, compared.err
    matrix = harness("compare", tmp_path / "study", "--all", "--interval", "seeds")
    assert "Checkpoints that share a letter" in matrix.out
    again = harness("import", "encodeval", tree, "--study", tmp_path / "study")
    assert again.code == 2
    assert "already holds a study" in again.err


def test_a_table_of_scores_is_imported_by_its_own_names(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("model,dataset,acc\nbert,sst2,0.9\ngpt,sst2,0.8\n")
    columns = "checkpoint=model,task=dataset,score=acc"
    said = harness(
        "import", "csv", tmp_path / "theirs.csv", "--columns", columns, "--metric", "accuracy",
        "--study", tmp_path / "study",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "2 runs with scores" in said.out
    assert "0.900 (1/1)" in harness("table", tmp_path / "study").out
    wrong = harness("import", "csv", tmp_path / "theirs.csv", "--columns", "checkpoint")
    assert "--columns checkpoint: write checkpoint=model" in wrong.err


def test_the_averages_of_the_paper_are_printed_by_kind(harness: Harness) -> None:
    said = harness("table", PUBLISHED / "paper_averages", "--by", "kind")
    rows = {
        "210m-clm-42k": "82.80 (1/1) 92.18 (1/1) 39.26 (1/1) 72.83 (1/1)",
        "610m-clm-42k": "83.58 (1/1) 92.69 (1/1) 42.09 (1/1) 76.20 (1/1)",
        "1b-clm-42k": "82.68 (1/1) 92.46 (1/1) 44.48 (1/1) 78.68 (1/1)",
        "210m-mlm40-42k": "84.89 (1/1) 92.13 (1/1) 49.43 (1/1) 75.78 (1/1)",
        "610m-mlm40-42k": "87.00 (1/1) 92.21 (1/1) 62.77 (1/1) 79.55 (1/1)",
        "1b-mlm40-42k": "88.23 (1/1) 92.51 (1/1) 70.28 (1/1) 79.95 (1/1)",
    }
    for name, numbers in rows.items():
        assert f"{name} {numbers}" in said.out


def test_a_study_without_seeds_claims_nothing(harness: Harness) -> None:
    study = PUBLISHED / "paper_averages"
    said = harness("compare", study, "1b-clm-42k", "1b-mlm40-42k")
    assert said.code == 2
    assert "no scores per example" in said.err
    said = harness("compare", study, "1b-clm-42k", "1b-mlm40-42k", "--interval", "seeds")
    assert said.code == 0
    assert "no interval" in said.out


def test_of_a_loss_the_lowest_comes_first(harness: Harness, tmp_path: Path) -> None:
    rows = [
        f"{name},sst2,{seed},{loss + seed / 100}\n"
        for name, loss in (("worst", 0.6), ("best", 0.2), ("next", 0.21))
        for seed in range(3)
    ]
    (tmp_path / "losses.csv").write_text("checkpoint,task,seed,score\n" + "".join(rows))
    study = tmp_path / "study"
    said = harness(
        "import", "csv", tmp_path / "losses.csv", "--metric", "log_loss", "--study", study
    )
    assert said.code == 0, said.err
    table = harness("table", study, "--format", "md").out
    assert "| best | **0.210 ± 0.025 (3/3)** |" in table
    assert "| next | 0.220 ± 0.025 (3/3)° |" in table
    matrix = harness("compare", study, "--all", "--interval", "seeds", "--format", "md").out
    assert "| checkpoint | mean | groups | best | next | worst |" in matrix
    assert "| worst | 0.610 | b | **+0.400** | **+0.390** | |" in matrix
    assert "Lower is better: log_loss." in matrix
