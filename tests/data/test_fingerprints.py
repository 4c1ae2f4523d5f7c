"""Fingerprints of frames."""

from __future__ import annotations

import pandas as pd

from harness.data.fingerprints import fingerprint_frame

FRAME = pd.DataFrame({"id": ["0", "1"], "text": ["a", "é"], "label": [0, 1]})


def test_the_fingerprint_of_a_frame_is_the_same_everywhere() -> None:
    assert fingerprint_frame(FRAME) == "61942755732a2de5"
    assert fingerprint_frame(FRAME.copy()) == "61942755732a2de5"


def test_order_values_names_and_types_count() -> None:
    others = [
        FRAME.iloc[::-1].reset_index(drop=True),
        FRAME.assign(text=["a", "e"]),
        FRAME.rename(columns={"text": "title"}),
        FRAME.astype({"label": "float64"}),
        FRAME.assign(text=[["a"], ["é"]]),
    ]
    assert len({fingerprint_frame(frame) for frame in [FRAME, *others]}) == 6
