"""The made-up world with a tiny untrained encoder: real files, real weights, a run in a second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from harness.checkpoints import discover
from harness.execute import Workplace
from harness.grid import FrozenGrid
from harness.seeding import seed_dropout
from harness.spec import Checkpoint, Recipe, Task
from harness.tasks import load_tasks
from harness.toy import make_world

WORDS = 300


@dataclass(frozen=True)
class SmallWorld:
    """Where its files lie, its encoder and its five tasks."""

    folder: Path
    encoder: Checkpoint
    tasks: dict[str, Task]

    def workplace(self, study: Path) -> Workplace:
        """Give the workplace of a study of this world."""
        return Workplace(study, self.folder / "data", self.folder / "cache")

    def grid(self, *names: str, **changes: Any) -> FrozenGrid:
        """Make a grid of some of its tasks; `rates` and `seeds` may be given."""
        rates = changes.pop("rates", (1e-3,))
        recipes = tuple(Recipe(learning_rate=rate, max_steps=6, batch_size=8) for rate in rates)
        fields = {
            "name": "small",
            "tasks": tuple(self.tasks[name] for name in names),
            "checkpoints": (self.encoder,),
            "recipes": dict.fromkeys(names, recipes),
            "seeds": (0,),
            "sweep": ("learning_rate",),
        }
        return FrozenGrid(**(fields | changes))


def make_small_world(folder: Path) -> SmallWorld:
    """Write the made-up world and an encoder of two layers of width 16 into a folder."""
    make_world(folder)
    make_encoder(folder / "encoder", folder / "data" / "corpus.txt")
    tasks = {name: task for name, task in load_tasks().items() if name.startswith("toy_")}
    return SmallWorld(folder, discover(folder / "encoder").checkpoints[0], tasks)


def make_encoder(folder: Path, corpus: Path) -> None:
    """Save an untrained BERT whose vocabulary is the corpus' first words."""
    words = dict.fromkeys(corpus.read_text(encoding="utf-8").split())
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *list(words)[:WORDS]]
    tokenizer = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    BertTokenizer(vocab=tokenizer.get_vocab(), model_max_length=64).save_pretrained(folder)
    seed_dropout(0)
    config = BertConfig(
        vocab_size=len(names),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    BertForMaskedLM(config).save_pretrained(folder)
