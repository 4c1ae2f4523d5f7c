"""Readers of native benchmark files, one module a family of formats; no hub, no downloads."""
