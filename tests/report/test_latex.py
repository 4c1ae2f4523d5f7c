from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.report import (
    LaidCell,
    Layout,
    lay_out,
    lay_out_comparison,
    lay_out_matrix,
    lay_out_sensitivity,
    to_latex,
    to_markdown,
)
from harness.report.latex import NEEDS, escape_latex
from harness.results import ALL_TASKS
from tests.report.test_tables import LAYOUT
from tests.results.test_comparing import MEANS, recipes_study

needs_pdflatex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed"
)


def test_latex_has_booktabs_rules_and_escapes_names():
    assert to_latex(LAYOUT) == (
        "% needs \\usepackage{booktabs,graphicx}\n"
        "\\begin{table}\n"
        "\\centering\n"
        "\\caption{Student t over seeds, 95 \\%.}\n"
        "\\smallskip\n"
        "\\sbox0{%\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "checkpoint & sst2 & squad\\_v2 \\\\\n"
        " & (accuracy) & (f1) \\\\\n"
        "\\midrule\n"
        "mlm\\_40 & \\textbf{0.912 $\\pm$ 0.020 (3/3)} & --- (2/3) \\\\\n"
        "clm & 0.90 $\\pm$ 0.10 (3/3)$^\\dagger$$^\\ddagger$ & 0.5 $\\pm$ 1.3 (3/3) \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}}\n"
        "\\ifdim\\wd0>\\linewidth\\sbox0{\\resizebox{\\linewidth}{!}{\\usebox0}}\\fi\n"
        "\\ifdim\\dimexpr\\ht0+\\dp0>.75\\textheight"
        "\\sbox0{\\resizebox*{!}{.75\\textheight}{\\usebox0}}\\fi\n"
        "\\usebox0\n"
        "\\par\\smallskip\\raggedright\\footnotesize "
        "clm, squad\\_v2: 1 run failed: a\\textbar{}b \\& c\n"
        "\\end{table}\n"
    )


def test_a_table_without_notes_ends_after_its_box():
    layout = Layout(("checkpoint",), ((LaidCell("a"),),), "c", ())
    assert to_latex(layout).endswith("\n\\usebox0\n\\end{table}\n")
    assert to_latex(layout).count("&") == 0  # one line of header where nothing stands in brackets


def test_latex_has_a_left_column_for_each_name(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    layout = lay_out(study, study.table(by=["objective", "pooling", "kind"]))
    assert r"\begin{tabular}{llrr}" in to_latex(layout)
    assert "| objective | pooling |" in to_markdown(layout)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-0.05 to +0.01", "$-$0.05 to +0.01"),
        ("mlm-0-step4000 1e-05", "mlm-0-step4000 1e-05"),
        ("a--b", "a-{}-b"),
        ("—", "---"),
        ("compare `a_b=c` then", r"compare \texttt{a\_b=c} then"),
        ("one ` alone", r"one \textasciigrave{} alone"),
        ("[x] failed", "{}[x] failed"),
        ("* failed", "{}* failed"),
        ("two\n\nlines", "two lines"),
        (r"C:\x {y} # $", r"C:\textbackslash{}x \{y\} \# \$"),
        ("~ ^", r"\textasciitilde{} \textasciicircum{}"),
    ],
)
def test_text_is_printed_as_it_is(text, written):
    assert escape_latex(text) == written


def compiled(tables: list[str], folder: Path) -> str:
    """Compile and give the log; every letter that is not there and every fault stops it."""
    body = [rf"\documentclass{{article}}{NEEDS}\begin{{document}}", *tables, r"\end{document}"]
    (folder / "t.tex").write_text("\n".join(body))
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@needs_pdflatex
def test_latex_compiles_and_no_table_leaves_the_page(tmp_path):
    study = recipes_study(tmp_path / "study", MEANS)
    pairs = study.compare_all(interval="seeds")
    layouts = [
        lay_out(study, study.table(), tied={("b3", "sst2")}),
        lay_out(study, study.table(by=["objective", "kind"])),
        lay_out_comparison(study.compare("a1", "b1", interval="seeds")),
        lay_out_matrix(pairs[pairs["task"] == ALL_TASKS]),
        lay_out_sensitivity(study.sensitivity()),
    ]
    many = Layout(("checkpoint", "mean"), ((LaidCell("a"), LaidCell("0.5")),) * 90, "Rows.", ())
    log = compiled([to_latex(layout) for layout in [*layouts, many]], tmp_path)
    assert re.findall(r"Overfull|Float too large|Missing character", log) == []


@needs_pdflatex
def test_latex_compiles_whatever_the_names_are(tmp_path):
    names = ("[mlm]", "*", "a_b & c|d", r"C:\x#1 {y}~^", "100 % of $5", "é–ü", "a\n\nb", "")
    rows = tuple((LaidCell(name, is_best=True), LaidCell("-0.1 ± 0.2†‡°")) for name in names)
    layout = Layout(names[:2], rows, " ".join(names), names)
    compiled([to_latex(layout)], tmp_path)
