"""The weight files of a checkpoint without loading them: are they whole, how many parameters?

A safetensors file is the header's length (8 bytes, little endian), the header (JSON: tensor ->
dtype, shape, begin and end of its bytes), then the bytes without gaps. So a truncated file shows in
its header.
Format: https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import CheckpointError

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "pytorch_model-*.bin")
FOREIGN = (
    *("pytorch_model*.bin", "model*.pt", "model*.pth", "consolidated*.pth", "*.ckpt"),
    *("*model_states.pt", "*.distcp", "tf_model.h5", "flax_model.msgpack"),
)
"""Weights as training frameworks keep them for themselves."""
OPTIMISERS = ("optimizer*.pt", "optimizer*.bin", "*optim_states.pt", "optim*.pt", "scheduler.pt")
UNFINISHED = ("*.safetensors.*tmp*", "*.incomplete", "*.part", "*.partial", "*.tmp")
_LONGEST_HEADER = 100_000_000
_BITS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "BOOL"), 8),
}
Header = dict[str, dict[str, Any]]


def has_weights(folder: Path) -> bool:
    """Say whether a folder holds weight files of any format, whole or not."""
    return _first(folder, ("*.safetensors", INDEX, *PICKLES, *FOREIGN)) is not None


def has_optimiser(folder: Path) -> bool:
    """Say whether a folder holds the state of an optimiser."""
    return _first(folder, OPTIMISERS) is not None


def list_weight_files(folder: Path) -> tuple[Path, ...]:
    """List the safetensors files that make up a checkpoint, sorted by name.

    Raises:
        CheckpointError: there are none, or the index is unreadable or names files that are missing.
    """
    if (folder / SINGLE).is_file():
        return (folder / SINGLE,)
    if not (folder / INDEX).is_file():
        raise CheckpointError(_why_none(folder))
    names = sorted(set(_read_index(folder / INDEX).values()))
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise CheckpointError(
            f"{len(missing)} of {len(names)} weight files named by {INDEX} are missing, such as "
            f"{missing[0]}; copy the checkpoint again"
        )
    return tuple(folder / name for name in names)


def count_parameters(folder: Path) -> int:
    """Check that the weight files are whole, and count the numbers in their floating-point tensors.

    Raises:
        CheckpointError: a file is missing, truncated or damaged.
    """
    headers = {path.name: read_header(path) for path in list_weight_files(folder)}
    if not (folder / SINGLE).is_file():
        for tensor, name in _read_index(folder / INDEX).items():
            if tensor not in headers[name]:
                raise CheckpointError(f"{INDEX} expects {tensor} in {name}, which lacks it")
    return sum(
        math.prod(tensor["shape"])
        for header in headers.values()
        for tensor in header.values()
        if "F" in tensor["dtype"]
    )


def read_header(path: Path) -> Header:
    """Read the header of a safetensors file and check it against the file's size.

    Returns:
        tensor name -> {"dtype", "shape", "data_offsets"}.

    Raises:
        CheckpointError: the file is truncated or damaged.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise CheckpointError(f"{path.name} is truncated or no safetensors file ({size} bytes)")
        text = file.read(length)
    try:
        header: Header = json.loads(text)
        header.pop("__metadata__", None)
        end = _check_offsets(header)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path.name} is damaged: its header can't be read ({error})"
        ) from None
    if end != size - 8 - length:
        state = "truncated" if end > size - 8 - length else "damaged"
        raise CheckpointError(
            f"{path.name} is {state}: its header tells of {end + 8 + length} bytes, "
            f"the file has {size}; copy it again"
        )
    return header


def _check_offsets(header: Header) -> int:
    """Check that the tensors' bytes follow without gaps; give where the last one ends."""
    end = 0
    for tensor in sorted(header.values(), key=lambda tensor: tuple(tensor["data_offsets"])):
        begin, stop = tensor["data_offsets"]
        bits = _BITS.get(tensor["dtype"])
        if begin != end or stop < begin:
            raise ValueError("data_offsets leave a gap or overlap")
        if bits is not None and math.prod(tensor["shape"]) * bits != (stop - begin) * 8:
            raise ValueError("a shape does not fit its data_offsets")
        end = stop
    return end


def _read_index(path: Path) -> dict[str, str]:
    try:
        weight_map = dict(json.loads(path.read_bytes())["weight_map"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path.name} can't be read ({error!r}); copy it again") from None
    # A name with a folder in it could reach outside the checkpoint.
    if not all(isinstance(name, str) and Path(name).name == name for name in weight_map.values()):
        raise CheckpointError(f"{path.name} names weight files outside of its own folder")
    return weight_map


def _why_none(folder: Path) -> str:
    """Say why a folder has no weights that can be read, and what helps."""
    if (folder / "adapter_config.json").is_file():
        return "holds an adapter, not a whole checkpoint; merge it into its base and save that"
    if _first(folder, PICKLES):
        code = (
            "from transformers import AutoModel as A; "
            f"A.from_pretrained(p := {json.dumps(str(folder))}, use_safetensors=False)"
            ".save_pretrained(p)"
        )
        return (
            "its weights are pickles, which can run code when loaded, so they are not read. If "
            f"you trust them, convert them: python -c {shlex.quote(code)}"
        )
    if part := _first(folder, UNFINISHED):
        return f"half-written: {part} is not finished; wait for it, or copy the checkpoint again"
    if part := _first(folder, ("*-of-*.safetensors",)):
        return f"half-written: {part} is there, but {INDEX} is not; copy the checkpoint again"
    if part := _first(folder, ("*.safetensors",)):
        return f"no weights: neither {SINGLE} nor {INDEX} ({part} goes by another name)"
    if part := _first(folder, FOREIGN):
        return (
            f"its weights ({part}) are in a training framework's own format, which is not read; "
            "export the model with `save_pretrained`"
        )
    if part := _first(folder, OPTIMISERS):
        return f"optimizer only: {part} is there, but no weights are; export the model"
    return f"no weights: neither {SINGLE} nor {INDEX}"


def _first(folder: Path, patterns: Sequence[str]) -> str | None:
    """Give the name of the first file of a folder that fits one of some patterns."""
    for pattern in patterns:
        for name in sorted(path.name for path in folder.glob(pattern)):
            return name
    return None
