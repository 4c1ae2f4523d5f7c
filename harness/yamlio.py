"""YAML 1.2 to a typed value; every fault of a file at once, each at file:line.

ruamel.yaml reads YAML 1.2, where `1e-5` is a number and `no` a word. It refuses duplicate keys,
and its round-trip reader builds no Python objects from tags.
"""

from __future__ import annotations

import difflib
import io
import re
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarfloat import ScalarFloat
from ruamel.yaml.scalarint import ScalarInt
from ruamel.yaml.scalarstring import ScalarString

from harness.errors import SpecError

T = TypeVar("T")
Path_ = tuple[int | str, ...]


def load_yaml(path: Path, adapter: TypeAdapter[T]) -> T:
    """Read a YAML 1.2 file as the adapter's type.

    Raises:
        SpecError: the file can't be read, is no YAML, or does not fit the type; the message has a
            line a fault, `file:line: key: what is wrong`, with a suggestion for a misspelt key.
    """
    document = _read(path)
    try:
        return adapter.validate_python(_plain(document))
    except ValidationError as error:
        faults = sorted({_describe(path, document, fault, adapter) for fault in error.errors()})
        raise SpecError("\n".join(text for _, text in faults)) from None


def locate(path: Path, location: Path_) -> str:
    """Say where a key or item of a file that was read stands: `file:line`."""
    return f"{path}:{line_of(_read(path), location)}"


def to_yaml(value: BaseModel) -> str:
    """Write a value as YAML that `load_yaml` reads again; what is None is left out."""
    writer = YAML(typ="rt", pure=True)
    writer.width = 100
    writer.default_flow_style = None  # short lists and mappings on one line
    stream = io.StringIO()
    writer.dump(value.model_dump(mode="json", exclude_none=True), stream)
    return stream.getvalue()


def line_of(document: Any, location: Path_) -> int:
    """Find the 1-based line of a key or item in a document that ruamel's round-trip reader made."""
    line = 0
    node = document
    for step in location:
        if isinstance(node, CommentedMap) and step in node:
            line = node.lc.key(step)[0]
        elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
            line = node.lc.item(step)[0]
        else:
            continue  # a step of pydantic's that the file does not have, such as a union's tag
        node = node[step]
    return line + 1


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SpecError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: can't be read as UTF-8 text: {error}") from None
    try:
        document = YAML(typ="rt", pure=True).load(text)
    except DuplicateKeyError as error:
        mark = error.problem_mark
        key = re.search(r'duplicate key "([^"]*)"', str(error.problem))
        name = key.group(1) if key else "a key"
        raise SpecError(f"{path}:{mark.line + 1}: {name}: given twice; keep one") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise SpecError(f"{where}: is no valid YAML: {error.problem}") from None
    except YAMLError as error:
        raise SpecError(f"{path}: is no valid YAML: {error}") from None
    if document is None:
        raise SpecError(f"{path}: is empty")
    if not isinstance(document, CommentedMap):
        raise SpecError(f"{path}:1: must be a mapping (`key: value` lines)")
    return document


def _plain(node: Any) -> Any:
    """Turn ruamel's round-trip values into plain Python ones."""
    if isinstance(node, dict):
        return {str(_plain(key)): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if isinstance(node, ScalarFloat):
        return float(node)
    if isinstance(node, ScalarInt):
        return int(node)
    if isinstance(node, ScalarString):
        return str(node)
    return node


def _describe(path: Path, document: Any, fault: Any, adapter: TypeAdapter[Any]) -> tuple[int, str]:
    """Say one fault of pydantic's as a line number and a line of text."""
    location = _in_document(document, fault["loc"], is_missing=fault["type"] == "missing")
    line = line_of(document, location)
    key = ".".join(str(step) for step in location) or "(file)"
    message, value = str(fault["msg"]).removeprefix("Value error, "), fault.get("input")
    if fault["type"] == "extra_forbidden":
        message = "no such key" + _suggestion(str(location[-1]), _known_keys(adapter))
    elif fault["type"] == "missing":
        message = "is missing"
    elif fault["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        message = message.replace("tag", "value")
    elif isinstance(value, str | int | float | bool):
        message = f"{message} (it is {value!r})"
    return line, f"{path}:{line}: {key}: {message}"


def _in_document(document: Any, location: Path_, *, is_missing: bool) -> Path_:
    """Drop from pydantic's location the steps that name members of a union, not keys.

    Where a key is missing, its name is the last step, and kept.
    """
    kept: list[int | str] = []
    node = document
    for position, step in enumerate(location):
        inside = (isinstance(node, dict) and step in node) or (
            isinstance(node, list) and isinstance(step, int) and step < len(node)
        )
        if inside:
            node = node[step]
            kept.append(step)
        elif is_missing and position == len(location) - 1:
            kept.append(step)
    return tuple(kept)


def _suggestion(word: str, known: set[str]) -> str:
    if word in known:
        return " here; it belongs to another kind or place"
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _known_keys(adapter: TypeAdapter[Any]) -> set[str]:
    """Collect the field names of every model that the adapter's type reaches."""
    keys: set[str] = set()
    seen: set[Any] = set()
    pending: list[Any] = [getattr(adapter, "_type", None)]
    while pending:
        type_ = pending.pop()
        if isinstance(type_, type) and issubclass(type_, BaseModel):
            if type_ in seen:
                continue
            seen.add(type_)
            keys |= set(type_.model_fields)
            pending += [field.annotation for field in type_.model_fields.values()]
        pending += get_args(type_)
    return keys
