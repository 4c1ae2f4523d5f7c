"""The version of harness; part of every record."""

__version__ = "0.1.0"
