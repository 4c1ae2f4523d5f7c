"""A folder, or a hub id -> checkpoints: discovery, order, names, and what is skipped and why."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import CheckpointError
from harness.fingerprints import VOCABULARIES, default_cache, fingerprint, read_json
from harness.spec import Attention, Checkpoint, Pooling
from harness.weightfiles import count_parameters, has_weights, list_weight_files

__all__ = ["Discovery", "Skipped", "default_cache", "default_pooling", "discover"]

_HUB_ID = re.compile(r"(?P<repo>[\w-][\w.-]*/[\w-][\w.-]*)(?:@(?P<revision>\S+))?")
_HUB_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")
_CAUSAL_ARCHITECTURE = re.compile(r"ForCausalLM$|(?<!With)LMHeadModel$")
_CAUSAL_TYPES = re.compile(
    r"(llama\d*|gpt\w*|qwen\w*|mistral\w*|mixtral|ministral\w*|gemma\w*|opt|phi\w*|bloom|falcon\w*|"
    r"olmo\w*|smollm\d*|stablelm|starcoder\d*|codegen|cohere\d*|granite\w*|deepseek_v\d+|glm\w*|mpt|"
    r"xglm|mamba\d*|jamba|rwkv|exaone\d*|nemotron|persimmon|biogpt)(_text)?"
)


@dataclass(frozen=True)
class Skipped:
    """A folder that looks like a checkpoint and can't be used."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Discovery:
    """What was found under a root, in natural order (step9 before step10)."""

    checkpoints: tuple[Checkpoint, ...]
    skipped: tuple[Skipped, ...]


def discover(
    root: str | Path, *, attention: Attention | None = None, pooling: Pooling | None = None
) -> Discovery:
    """Find the checkpoints in a folder, or fetch one of the hub (`org/name`, `org/name@revision`).

    A folder with a config.json is one checkpoint; of any other folder all sub-folders with a
    config.json or with weights are looked at. Without a given attention it is native; without a
    given pooling it is `default_pooling`.

    Raises:
        CheckpointError: there is no such folder, nothing in it can be used, or the hub does not
            give it.
    """
    folder = Path(root)
    name = None
    if not folder.is_dir():
        folder, name = _fetch(str(root)), str(root).split("/")[-1]
    if (folder / "config.json").is_file():
        try:
            single = _inspect(folder, name or folder.resolve().name, attention, pooling)
        except CheckpointError as error:
            raise CheckpointError(f"{root}: can't be used: {error}") from None
        return Discovery((single,), ())
    return _discover_below(folder, attention, pooling)


def default_pooling(config: Mapping[str, Any], attention: Attention) -> Pooling:
    """Choose `last` where the model reads left to right, else `mean`.

    Left to right reads a decoder with native attention, and anything with causal attention. So a
    decoder with bidirectional attention gets `mean`.
    """
    reads_causally = attention == "causal" or (attention == "native" and _is_decoder(config))
    return "last" if reads_causally else "mean"


def _discover_below(root: Path, attention: Attention | None, pooling: Pooling | None) -> Discovery:
    folders = sorted(_candidates(root), key=lambda folder: _natural(folder.relative_to(root)))
    if not folders:
        raise CheckpointError(
            f"{root}: no checkpoint here or below; a checkpoint is a folder with config.json, "
            "safetensors weights and tokenizer files"
        )
    found: dict[str, Checkpoint] = {}
    skipped: list[Skipped] = []
    for folder, name in zip(folders, _names(root, folders), strict=True):
        try:
            checkpoint = _inspect(folder, name, attention, pooling)
            twin = found.setdefault(checkpoint.fingerprint, checkpoint)
            if twin is not checkpoint:
                # The same content means the same run ids, hence the same records.
                raise CheckpointError(
                    f"has the same content as {twin.name!r}, so it is the same checkpoint"
                )
        except CheckpointError as error:
            skipped.append(Skipped(folder, str(error)))
    if not found:
        reasons = "\n".join(f"  {item.path}: {item.reason}" for item in skipped)
        raise CheckpointError(f"{root}: none of its checkpoints can be used:\n{reasons}")
    return Discovery(tuple(found.values()), tuple(skipped))


def _candidates(
    folder: Path, inside: bool = False, above: frozenset[Path] = frozenset()
) -> Iterator[Path]:
    """Walk down to all folders that look like checkpoints, through links too.

    Inside a checkpoint only a folder with both config and weights counts: intermediate steps do,
    the little folders of other tools don't.
    """
    real = folder.resolve()
    if real in above:
        return
    for child in sorted(folder.iterdir()):
        if child.name.startswith(".") or not child.is_dir():
            continue
        signs = ((child / "config.json").is_file(), has_weights(child))
        is_candidate = all(signs) if inside else any(signs)
        if is_candidate:
            yield child
        yield from _candidates(child, inside or is_candidate, above | {real})


def _natural(path: Path) -> list[list[str | int]]:
    """Make the sort key under which step9 comes before step10."""
    return [
        [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
        for name in path.parts
    ]


def _names(root: Path, folders: Sequence[Path]) -> list[str]:
    """Name each folder by its last component where that is unique, else by its path from root."""
    count = Counter(folder.name for folder in folders)
    names = [
        folder.name if count[folder.name] == 1 else "--".join(folder.relative_to(root).parts)
        for folder in folders
    ]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise CheckpointError(
            f"{root}: two checkpoints would be called {repeated[0]!r}; rename one"
        )
    return names


def _inspect(
    folder: Path, name: str, attention: Attention | None, pooling: Pooling | None
) -> Checkpoint:
    """Check one folder and describe it; the CheckpointError says why it can't be used."""
    if not (folder / "config.json").is_file():
        raise CheckpointError("no config.json")
    config = read_json(folder / "config.json")
    if not isinstance(config.get("model_type"), str):
        raise CheckpointError("config.json does not say a `model_type`")
    parameters = count_parameters(folder)
    if not any((folder / file).is_file() for file in VOCABULARIES):
        raise CheckpointError(
            "no tokenizer (neither tokenizer.json nor vocabulary files); save the tokenizer into "
            "the same folder"
        )
    chosen: Attention = attention or "native"
    return Checkpoint(
        name=name,
        path=str(folder.absolute()),  # a worker may stand in another folder
        fingerprint=fingerprint(folder, list_weight_files(folder)),
        attention=chosen,
        pooling=pooling or default_pooling(config, chosen),
        parameters=parameters,
    )


def _is_decoder(config: Mapping[str, Any]) -> bool:
    """Say whether a config's own attention looks to the left only."""
    if isinstance(config.get("is_causal"), bool):
        return bool(config["is_causal"])
    if config.get("use_bidirectional_attention"):
        return False
    if config.get("is_decoder") is True:
        return True
    architectures = config.get("architectures") or ()
    if any(_CAUSAL_ARCHITECTURE.search(str(name)) for name in architectures):
        return True
    return _CAUSAL_TYPES.fullmatch(str(config.get("model_type"))) is not None


def _fetch(name: str) -> Path:
    """Give the local folder of a hub checkpoint, downloading it where the hub can be reached."""
    path = Path(name)
    match = _HUB_ID.fullmatch(name)
    if match is None or path.parent.is_dir():
        siblings = [child.name for child in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, siblings, n=1)
        hint = f"; did you mean {path.parent / close[0]}?" if close else ""
        raise CheckpointError(f"{name}: no such folder{hint}")
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                match["repo"], revision=match["revision"], allow_patterns=list(_HUB_FILES)
            )
        )
    except Exception as error:  # the hub's client raises what several libraries below it raise
        cause = str(error).strip().split("\n")[0] or type(error).__name__
        raise CheckpointError(
            f"{name}: no such folder, and the hub does not give it either ({cause}). Without "
            "internet, bring it with `harness fetch` where there is some, or give a local folder"
        ) from None
