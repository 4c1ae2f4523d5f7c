"""What a config.json says of an architecture: does it read left to right, can it serve at all?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ENCODERS_OF_PAIRS = frozenset({"mt5", "t5", "umt5"})
"""Model types of encoder-decoders whose encoder alone is a checkpoint here."""

_CAUSAL_ARCHITECTURE = re.compile(r"ForCausalLM$|(?<!With)LMHeadModel$")
_CAUSAL_TYPES = re.compile(
    r"(llama\d*|gpt\w*|qwen\w*|mistral\w*|mixtral|ministral\w*|gemma\w*|opt|phi\w*|bloom|falcon\w*|"
    r"olmo\w*|smollm\d*|stablelm|starcoder\d*|codegen|cohere\d*|granite\w*|deepseek_v\d+|glm\w*|mpt|"
    r"xglm|mamba\d*|jamba|rwkv|exaone\d*|nemotron|persimmon|biogpt)(_text)?"
)
_PARTS = ("text_config", "vision_config", "audio_config")


def reads_left_to_right(config: Mapping[str, Any]) -> bool:
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


def why_refused(config: Mapping[str, Any]) -> str | None:
    """Say why an architecture can't be fine-tuned here; None where its config forbids nothing."""
    name = config.get("model_type")
    if config.get("is_encoder_decoder") is True and name not in ENCODERS_OF_PAIRS:
        return (
            f"{name} is an encoder-decoder; only encoders, decoders, and the encoders of "
            f"{', '.join(sorted(ENCODERS_OF_PAIRS))} can be fine-tuned"
        )
    parts = [part for part in _PARTS if isinstance(config.get(part), Mapping)]
    if parts:
        return f"{name} holds several models ({', '.join(parts)}); save its text model by itself"
    return None
