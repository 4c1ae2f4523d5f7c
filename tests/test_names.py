from __future__ import annotations

import pytest

from harness.names import parse_name


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (
            "1b-clm-42k",
            {
                "size": "1b",
                "objective": "clm",
                "steps": 42_000,
                "decayed": False,
                "total_steps": 42_000,
            },
        ),
        (
            "610m-mlm40-42k",
            {
                "size": "610m",
                "objective": "mlm",
                "steps": 42_000,
                "decayed": False,
                "total_steps": 42_000,
                "mask_ratio": 40,
            },
        ),
        (
            "610m-clm-10k-mlm40-42k",
            {
                "size": "610m",
                "objective": "clm",
                "steps": 10_000,
                "decayed": False,
                "objective_2": "mlm",
                "total_steps": 42_000,
                "mask_ratio": 40,
            },
        ),
        (
            "610m-clm-dec42k-mlm40-64k",
            {
                "size": "610m",
                "objective": "clm",
                "steps": 42_000,
                "decayed": True,
                "objective_2": "mlm",
                "total_steps": 64_000,
                "mask_ratio": 40,
            },
        ),
        (
            "610m-mlm40-42k-1000",
            {
                "size": "610m",
                "objective": "mlm",
                "steps": 42_000,
                "decayed": False,
                "total_steps": 42_000,
                "mask_ratio": 40,
                "intermediate_step": 1_000,
            },
        ),
        ("bert-base-uncased", {}),
        ("610m-mlm40", {}),
        ("", {}),
    ],
)
def test_a_name_becomes_columns(name, columns):
    assert parse_name(name) == columns
