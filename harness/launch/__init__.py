"""Placeholder docstring, replaced by the part that owns this package."""
