"""From a frozen grid to executed runs: what is left, what it costs, and who executes it."""
