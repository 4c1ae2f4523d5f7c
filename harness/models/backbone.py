"""The pretrained body of a checkpoint: fp32 masters from safetensors, and a copy to go back to."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForTextEncoding,
)
from transformers.utils import logging

from harness.architectures import why_refused
from harness.errors import CheckpointError
from harness.fingerprints import RANDOM_SEED
from harness.models.batch import Batch, Layout
from harness.seeding import seed_initialisation
from harness.spec import Checkpoint, Precision

# Weights that pretraining put on top of the body, and tables which old files carry but which are no
# weights.
HEADS = re.compile(
    r"(^|\.)(pooler|lm_head|cls|classifier|pre_classifier|sop_classifier|score|qa_outputs|predictions"
    r"|generator_predictions|generator_lm_head|discriminator_predictions|embed_out|vocab_transform"
    r"|vocab_layer_norm|vocab_projector)\."
    r"|^head\.|^decoder\.(weight|bias)$|(^|\.)(position_ids|inv_freq)$"
)
DROPOUT_ATTRIBUTE = re.compile(r"dropout|pdrop", re.IGNORECASE)


class Backbone:
    """A pretrained body with its weights as they were on disk, to fine-tune again and again.

    `state` is that pristine copy (fp32, CPU); `reset` restores it. `module` may live on any device.
    """

    def __init__(self, module: Any, checkpoint: Checkpoint) -> None:
        self.module: Any = module
        self.config: Any = module.config
        self.checkpoint = checkpoint
        self.pooling = checkpoint.pooling
        # OPT may project its last hidden states to the width of its embeddings.
        self.hidden_size = int(getattr(self.config, "word_embed_proj_dim", self.config.hidden_size))
        self.initializer_range = float(getattr(self.config, "initializer_range", 0.02))
        self.has_type_ids = (
            getattr(self.config, "type_vocab_size", 0) > 1
            and "token_type_ids" in inspect.signature(module.forward).parameters
        )
        self.state = {name: value.clone() for name, value in module.state_dict().items()}
        self._dropouts = list(_dropout_places(module))
        self._dropout: float | None = None

    def layout(self, device: str) -> Layout:
        """Say how batches for this backbone are padded and pooled."""
        pad_id = self.config.pad_token_id
        return Layout(
            pad_id=0 if pad_id is None or pad_id < 0 else pad_id,
            has_type_ids=self.has_type_ids,
            pooling=self.pooling,
            device=device,
        )

    def hidden(self, batch: Batch) -> torch.Tensor:
        """Run the body: (B, L, D), the last hidden states."""
        inputs: dict[str, torch.Tensor] = {"input_ids": batch.token_ids_BL}
        if batch.mask_BL is not None:
            inputs["attention_mask"] = batch.mask_BL.long()
        if batch.type_ids_BL is not None:
            inputs["token_type_ids"] = batch.type_ids_BL
        hidden_BLD: torch.Tensor = self.module(**inputs).last_hidden_state
        return hidden_BLD

    @torch.no_grad()
    def reset(self) -> None:
        """Put back the weights of the checkpoint, in fp32, from memory."""
        cast_parameters(self.module, torch.float32)
        for name, value in self.module.state_dict().items():
            value.copy_(self.state[name], non_blocking=True)

    def set_dropout(self, rate: float | None) -> None:
        """Use one dropout rate everywhere; None goes back to the checkpoint's own rates."""
        self._dropout = rate
        for module, name, own_rate in self._dropouts:
            setattr(module, name, own_rate if rate is None else rate)

    @property
    def head_dropout(self) -> float:
        """The rate in front of a head: the one set, else what the config says of classifiers."""
        if self._dropout is not None:
            return self._dropout
        for name in ("classifier_dropout", "hidden_dropout_prob", "hidden_dropout"):
            rate = getattr(self.config, name, None)
            if rate is not None:
                return float(rate)
        return 0.0


def load_backbone(checkpoint: Checkpoint) -> Backbone:
    """Load the body of a checkpoint: fp32 on the CPU, safetensors only, no foreign code.

    Attention is computed by torch's `scaled_dot_product_attention` where the architecture has that,
    else by the library's plain code. Of an encoder-decoder the encoder is taken.

    Raises:
        CheckpointError: it can't be read, or weights of the body are missing, left over or of
        another shape.
    """
    path = checkpoint.path
    if not Path(path).is_dir():
        raise CheckpointError(f"{path}: no such folder")
    try:
        config = AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        _set_attention(config, checkpoint)
        with _quiet_loading():
            module = _draw(config) if checkpoint.weights == "random" else _read(path, config)
    except CheckpointError:
        raise
    except Exception as error:  # transformers raises anything, from OSError to a bare Exception
        raise CheckpointError(
            f"{path}: its weights can't be loaded ({type(error).__name__}: {error})"
        ) from error
    for name, parameter in module.named_parameters():
        if HEADS.search(name):
            parameter.requires_grad_(False)
    return Backbone(module, checkpoint)


def _read(path: str, config: Any) -> Any:
    """Read the weights of a folder; all of them must be there, and no others."""
    module, info = _library_class(config).from_pretrained(
        path,
        config=config,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # they are named below, all at once
        dtype=torch.float32,
        output_loading_info=True,
    )
    _refuse_other_weights(path, info)
    return module


def _draw(config: Any) -> Any:
    """Draw weights as the library does before a pretraining; always the same ones."""
    with torch.random.fork_rng(devices=[]):
        seed_initialisation(RANDOM_SEED)
        module = _library_class(config).from_config(
            config, dtype=torch.float32, trust_remote_code=False
        )
    return module.eval()


def _library_class(config: Any) -> Any:
    """Choose the library's class of the body: of an encoder-decoder only the encoder."""
    is_listed = type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING
    return AutoModelForTextEncoding if is_listed else AutoModel


def cast_parameters(module: nn.Module, dtype: torch.dtype) -> None:
    """Change the type of the parameters in place; buffers (rotary tables) keep theirs."""
    for parameter in module.parameters():
        if parameter.dtype != dtype:
            parameter.data = parameter.data.to(dtype)


def autocast(precision: Precision, device: str) -> torch.autocast:
    """Give the context for forward passes: bf16 arithmetic for all but fp32."""
    kind = torch.device(device).type
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=precision != "fp32")


def _set_attention(config: Any, checkpoint: Checkpoint) -> None:
    refused = why_refused(config.to_dict())
    if refused is not None:
        raise CheckpointError(f"{checkpoint.path}: {refused}")
    if not hasattr(config, "hidden_size"):
        raise CheckpointError(f"{checkpoint.path}: {config.model_type} has no single hidden size")
    if checkpoint.attention != "native":
        config.is_causal = checkpoint.attention == "causal"
    config.use_cache = False
    # Nothing that a file says chooses how attention is computed: the library takes its default.
    config._attn_implementation = None


def _refuse_other_weights(path: str, info: dict[str, Any]) -> None:
    mismatched = {key[0] if isinstance(key, tuple) else key for key in info["mismatched_keys"]}
    faults = {
        "missing": set(info["missing_keys"]),
        "not part of the architecture": set(info["unexpected_keys"]),
        "of another shape": mismatched,
    }
    lines = []
    for fault, names in faults.items():
        body = sorted(name for name in names if not HEADS.search(name))
        if body:
            more = f" and {len(body) - 5} more" if len(body) > 5 else ""
            lines.append(f"{fault}: {', '.join(body[:5])}{more}")
    if lines:
        raise CheckpointError(
            f"{path}: weights and config.json do not fit: {'; '.join(lines)}. "
            "Save the checkpoint again, or take the config of the training that wrote the weights."
        )


def _dropout_places(module: nn.Module) -> Iterator[tuple[nn.Module, str, float]]:
    """Find all dropout rates: of dropout layers, and the numbers that attention layers keep."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            yield part, "p", part.p
            continue
        for name, value in vars(part).items():
            if DROPOUT_ATTRIBUTE.search(name) and type(value) in (int, float):
                yield part, name, value


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Silence the report and the bar of loading: what matters of them becomes an error here."""
    verbosity = logging.get_verbosity()
    bar = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()
