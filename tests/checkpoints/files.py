"""Checkpoint folders written by hand, with a few bytes of weights."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """Write the format by hand, so that the reader is not tested against itself."""
    header, body = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(body), len(body) + len(content)],
        }
        body += content
    text = json.dumps(header | {"__metadata__": {"format": "pt"}}).encode()
    return struct.pack("<Q", len(text)) + text + body


def weights(fill: int = 0) -> bytes:
    """Six float parameters, and two integers that are none."""
    return safetensors(
        {
            "layer.weight": ("F32", [2, 3], bytes([fill]) * 24),
            "layer.positions": ("I64", [2], bytes(16)),
        }
    )


def write_checkpoint(folder: Path, config: dict[str, Any] = BERT, fill: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(weights(fill))
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    return folder


def write_sharded(folder: Path) -> Path:
    write_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for index, name in enumerate(names):
        content = safetensors({f"part{index}": ("BF16", [4], bytes(8))})
        (folder / name).write_bytes(content)
    index_file = {"metadata": {}, "weight_map": {"part0": names[0], "part1": names[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index_file))
    return folder
