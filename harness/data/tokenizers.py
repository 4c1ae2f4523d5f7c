"""Tokenizers of checkpoints: loaded from disk, and known by their content."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import CheckpointError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def load_tokenizer(path: str | Path) -> PreTrainedTokenizerFast:
    """Load the fast tokenizer of a checkpoint folder, with a pad token, and without the network.

    A tokenizer without a pad token pads with its end token. Raises CheckpointError where the folder
    has no tokenizer, only a slow one, or none that can pad.
    """
    # Slow to import; whoever only looks at examples does without it.
    from transformers import AutoTokenizer

    if not Path(path).is_dir():
        raise CheckpointError(f"{path}: no such folder")
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            str(path), local_files_only=True, use_fast=True, trust_remote_code=False
        )
    except Exception as error:  # from bad JSON to a bare Exception of the tokenizers library
        raise CheckpointError(
            f"{path}: its tokenizer can't be loaded ({type(error).__name__}: {error})"
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise CheckpointError(
            f"{path}: it has only a slow tokenizer ({type(tokenizer).__name__}); "
            "convert it once and save its tokenizer.json in the folder"
        )
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise CheckpointError(f"{path}: its tokenizer has neither a pad token nor an end token")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_config(path: str | Path) -> Any:
    """Load the config of a checkpoint folder, which limits the length of its inputs.

    Raises CheckpointError where there is none that can be read.
    """
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(str(path), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # from a missing file to an unknown architecture
        raise CheckpointError(
            f"{path}: its config can't be loaded ({type(error).__name__}: {error}); "
            "name the folder of a checkpoint"
        ) from error


def bare_tokenizer(tokenizer: PreTrainedTokenizerFast) -> Any:
    """Copy the model of a tokenizer as a `tokenizers.Tokenizer` that adds and cuts nothing.

    No special tokens, no truncation, no padding. Without its post-processor the offsets are those
    of the pre-tokenizer: the trimming of some byte-level ones loses characters.
    """
    from tokenizers import Tokenizer

    bare = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    bare.post_processor = None
    bare.no_truncation()
    bare.no_padding()
    return bare


def tokenizer_fingerprint(tokenizer: PreTrainedTokenizerFast) -> str:
    """Digest all that decides which ids a text becomes; first 16 hex digits of the SHA-256.

    Truncation and padding are left out: calls with other lengths change them in passing.
    """
    # Its JSON is {version, truncation, padding, added_tokens, ...}: what counts begins there. It is
    # digested as text, since parsing a large vocabulary takes longer than all the rest.
    whole = tokenizer.backend_tokenizer.to_str()
    content = whole[max(whole.find('"added_tokens"'), 0) :]
    special = [tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id]
    names = list(tokenizer.model_input_names)
    text = json.dumps([special, names]) + content
    return hashlib.sha256(text.encode()).hexdigest()[:16]
