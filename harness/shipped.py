"""Where the task cards and grids of harness lie: in a checkout, or in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).parent


def shipped_folder(what: Literal["tasks", "grids"]) -> Path:
    """Give the folder of shipped cards or grids: `_tasks` in a wheel, `tasks/` in a checkout."""
    packed = PACKAGE / f"_{what}"
    return packed if packed.is_dir() else PACKAGE.parent / what
