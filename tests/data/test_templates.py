"""The text of a card."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.data.templates import columns_of, render, render_template
from harness.errors import SpecError

FRAME = pd.DataFrame({"premise": ["It rains.", ""], "hypothesis": ["It is {wet}.", "b"]})


def test_one_column_two_columns_and_a_template() -> None:
    assert columns_of("premise") == ("premise",)
    assert columns_of(("premise", "hypothesis")) == ("premise", "hypothesis")
    template = "P: {premise}\nH: {hypothesis} ({premise})"
    assert columns_of(template) == ("premise", "hypothesis")
    assert render("premise", FRAME) == [["It rains.", ""]]
    assert render(("premise", "hypothesis"), FRAME) == [
        ["It rains.", ""],
        ["It is {wet}.", "b"],
    ]
    assert render(template, FRAME) == [
        ["P: It rains.\nH: It is {wet}. (It rains.)", "P: \nH: b ()"]
    ]


def test_an_empty_title_leaves_no_space() -> None:
    assert render_template("{premise} {hypothesis}", FRAME) == ["It rains. It is {wet}.", "b"]
    assert render_template("{{{premise}}}", FRAME) == ["{It rains.}", "{}"]


@pytest.mark.parametrize("template", ["{a.b}", "{a[0]}", "{a!r}", "{a:>3}", "{}", "{a", "a}"])
def test_a_template_is_text_with_holes_and_nothing_more(template: str) -> None:
    with pytest.raises(SpecError, match="template"):
        columns_of(template)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("P: {premis}", "no column 'premis'; write some of {premise}, {hypothesis}"),
        ("premise", "it names no column"),
    ],
)
def test_a_template_is_of_columns_that_there_are(template: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        render_template(template, FRAME)
