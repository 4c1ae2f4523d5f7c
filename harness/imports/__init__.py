"""Results of other tools become studies: one module a tool or file format, one that writes."""

from __future__ import annotations

from harness.imports.encodeval import import_encodeval
from harness.imports.table import import_table
from harness.imports.writing import Imported

__all__ = ["Imported", "import_encodeval", "import_table"]
