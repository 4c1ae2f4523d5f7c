"""What the name of a pretrained checkpoint says: size, objectives, steps, mask ratio.

The grammar is that of the checkpoints of arXiv 2507.00994, read from their model cards:
`[size]-[objective]-[steps]` and `[size]-[objective]-[steps]-[objective]-[total]`, where `dec42k`
means begun from a decayed checkpoint and a last number is an intermediate step.
"""

from __future__ import annotations

import re

_NUMBER = r"\d+(?:\.\d+)?[km]?"
_OBJECTIVE = r"(?:clm|mlm\d*)"
_NAME = re.compile(
    rf"(?P<size>\d+(?:\.\d+)?[mb])-(?P<objective>{_OBJECTIVE})-(?P<decayed>dec)?(?P<steps>{_NUMBER})"
    rf"(?:-(?P<objective_2>{_OBJECTIVE})-(?P<total_steps>{_NUMBER}))?"
    r"(?:-(?P<intermediate_step>\d+))?",
    re.IGNORECASE,
)
_THOUSANDS = {"k": 1_000, "m": 1_000_000}


def parse_name(name: str) -> dict[str, str | int | float | bool]:
    """Read the columns that a checkpoint's name says; a name of another grammar gives none.

    Keys: `size` (`610m`), `objective` and `objective_2` (`clm` or `mlm`), `mask_ratio` (per cent,
    of the last MLM part), `steps` of the first objective, `decayed`, `total_steps`,
    `intermediate_step`. A key that the name says nothing of is left out, but `total_steps`
    equals `steps` where there is one objective.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return {}
    steps = _number(found["steps"])
    columns: dict[str, str | int | float | bool] = {
        "size": found["size"].lower(),
        "objective": found["objective"][:3].lower(),
        "steps": steps,
        "decayed": found["decayed"] is not None,
        "total_steps": steps,
    }
    if found["objective_2"]:
        columns["objective_2"] = found["objective_2"][:3].lower()
        columns["total_steps"] = _number(found["total_steps"])
    ratios = [part[3:] for part in (found["objective"], found["objective_2"] or "") if part[3:]]
    if ratios:
        columns["mask_ratio"] = int(ratios[-1])
    if found["intermediate_step"]:
        columns["intermediate_step"] = int(found["intermediate_step"])
    return columns


def _number(text: str) -> int:
    """Read `42k` as 42000; half steps do not exist."""
    factor = _THOUSANDS.get(text[-1].lower(), 1)
    return round(float(text.rstrip("kKmM")) * factor)
