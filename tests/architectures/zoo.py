"""A tiny random checkpoint of each architecture, with a tokenizer as its family has.

What is wanted of each is written beside it as literals: whether its first token sees the last one,
whether it knows token types, and how many tokens it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AutoModel,
    BertConfig,
    DebertaV2Config,
    ElectraConfig,
    EuroBertConfig,
    Gemma3TextConfig,
    GPT2Config,
    LlamaConfig,
    ModernBertConfig,
    OPTConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    RobertaConfig,
    T5Config,
    T5ForConditionalGeneration,
)

POSITIONS = 96
VOCABULARY = 420
SPREAD = 0.1  # of random weights: with the usual 0.02 all texts look alike at this width
WIDTHS = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": SPREAD,
}
ENCODER = WIDTHS | {"max_position_embeddings": POSITIONS}
DECODER = ENCODER | {"num_key_value_heads": 2, "head_dim": 8}


@dataclass(frozen=True)
class Species:
    """An architecture: its config, its tokenizer, and what is wanted of it."""

    config: Callable[..., Any]
    sizes: dict[str, Any]
    words: str
    """Kind of the vocabulary: wordpiece, bytes or unigram."""
    special: dict[str, str]
    """Special tokens by role; the first ids are theirs, in this order."""
    single: str | None = None
    """Template of a text; a pair repeats it from its text on. None: nothing is added."""
    sees_future: bool = True
    has_type_ids: bool = False
    limit: int = POSITIONS
    left: bool = False


BERT_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
ROBERTA_TOKENS = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "cls_token": "<s>",
    "sep_token": "</s>",
}
CLS = "[CLS] $A [SEP]"
SLIDING = {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}

ZOO = {
    "bert": Species(BertConfig, ENCODER, "wordpiece", BERT_TOKENS, CLS, has_type_ids=True),
    "roberta": Species(
        RobertaConfig,
        ENCODER | {"max_position_embeddings": POSITIONS + 2, "type_vocab_size": 1},
        "bytes",
        ROBERTA_TOKENS,
        "<s> $A </s>",
    ),
    "deberta-v2": Species(
        DebertaV2Config,
        ENCODER
        | {
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 16,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "position_biased_input": False,
        },
        "unigram",
        BERT_TOKENS,
        CLS,
    ),
    "electra": Species(
        ElectraConfig,
        ENCODER | {"embedding_size": 16},
        "wordpiece",
        BERT_TOKENS,
        CLS,
        has_type_ids=True,
    ),
    "modernbert": Species(
        ModernBertConfig,
        ENCODER | {"local_attention": 8, "global_attn_every_n_layers": 2},
        "bytes",
        BERT_TOKENS,
        CLS,
    ),
    "eurobert": Species(
        EuroBertConfig,
        DECODER,
        "bytes",
        {"bos_token": "<|begin|>", "eos_token": "<|end|>", "pad_token": "<|end|>"},
        "<|begin|> $A <|end|>",
    ),
    "t5": Species(
        T5Config,
        {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
        "unigram",
        {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
        "$A </s>",
        limit=512,
    ),
    "gpt2": Species(
        GPT2Config,
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS}
        | {"initializer_range": SPREAD},
        "bytes",
        {"eos_token": "<|endoftext|>"},
        sees_future=False,
    ),
    "llama": Species(
        LlamaConfig,
        DECODER,
        "bytes",
        {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"},
        "<s> $A",
        sees_future=False,
        left=True,
    ),
    "qwen3": Species(
        Qwen3Config,
        DECODER,
        "bytes",
        {"pad_token": "<|endoftext|>", "eos_token": "<|im_end|>"},
        sees_future=False,
        left=True,
    ),
    "gemma3_text": Species(
        Gemma3TextConfig,
        DECODER | SLIDING,
        "unigram",
        {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>", "unk_token": "<unk>"},
        "<bos> $A",
        sees_future=False,
        left=True,
    ),
    "opt": Species(
        OPTConfig,
        {"hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
        | {"max_position_embeddings": POSITIONS, "word_embed_proj_dim": 16, "init_std": SPREAD},
        "bytes",
        {"unk_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "bos_token": "</s>"},
        "</s> $A",
        sees_future=False,
    ),
}


def save(name: str, folder: Path, corpus: Path) -> Path:
    """Write the checkpoint of an architecture: a tokenizer trained on a corpus, random weights."""
    species = ZOO[name]
    tokenizer = make_tokenizer(species, corpus)
    tokenizer.save_pretrained(folder)
    ids = {
        f"{role}_token_id": getattr(tokenizer, f"{role}_token_id")
        for role in ("bos", "eos", "pad", "cls", "sep")
        if getattr(tokenizer, f"{role}_token_id") is not None
    }
    config = species.config(**species.sizes, vocab_size=len(tokenizer), **ids)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if name == "t5":
            # The published ones are whole: the encoder has to be taken out of it.
            T5ForConditionalGeneration(config).save_pretrained(folder)
        else:
            AutoModel.from_config(config).save_pretrained(folder)
    return folder


def make_tokenizer(species: Species, corpus: Path) -> PreTrainedTokenizerFast:
    """Train a tokenizer and give it the special tokens of a species."""
    special = tuple(dict.fromkeys(species.special.values()))
    tokenizer = Tokenizer.from_str(_train(species.words, special, corpus))
    if species.single is not None:
        first, second = species.single, species.single.split(" ", 1)[1]
        if species.single.startswith("$A"):
            second = species.single
        tokenizer.post_processor = processors.TemplateProcessing(
            single=first,
            pair=f"{first} " + second.replace("$A", "$B:1").replace("]", "]:1"),
            special_tokens=[
                (token, tokenizer.token_to_id(token))
                for token in special
                if token in species.single.split()
            ],
        )
    names = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        padding_side="left" if species.left else "right",
        model_input_names=[*names, "token_type_ids"] if "[CLS]" in special else names,
        **species.special,
    )


@cache
def _train(words: str, special: tuple[str, ...], corpus: Path) -> str:
    lines = corpus.read_text(encoding="utf-8").splitlines()
    options: dict[str, Any] = {"special_tokens": list(special), "show_progress": False}
    if words == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # type: ignore[arg-type]
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=VOCABULARY, **options)
    elif words == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY + 256, initial_alphabet=alphabet, **options
        )
    else:
        unknown = "[UNK]" if "[UNK]" in special else "<unk>"
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=VOCABULARY, unk_token=unknown, **options)
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer.to_str()
