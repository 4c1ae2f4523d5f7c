"""Backbones, what is put on top of them, and the padded batches that go through both."""
