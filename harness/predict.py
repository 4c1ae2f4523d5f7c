"""Weights and splits in, predictions out: computed in length order, given in file order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from harness.batching import split_by_tokens
from harness.models.backbone import Backbone
from harness.models.batch import Batch, collate
from harness.models.decode import choose_answers, choose_tags, list_tokens, mark_answers
from harness.models.heads import AnyHead, compute_outputs
from harness.models.spans import best_spans
from harness.search import rank
from harness.spec import QuestionAnswering, Recipe, Retrieval, Task, TokenClassification

if TYPE_CHECKING:
    from harness.data.encode import Encoded, EncodedCollection, EncodedPart
    from harness.data.frames import Collection


@torch.no_grad()
def predict(
    backbone: Backbone,
    head: AnyHead,
    task: Task,
    parts: Mapping[str, pd.DataFrame | Collection],
    encoded: Mapping[str, EncodedPart],
    recipe: Recipe,
    *,
    device: str,
    max_tokens: int,
) -> dict[str, pd.DataFrame]:
    """Predict splits: for each the columns of its kind from `id` on, in the order of the split.

    `encoded` holds the features of the parts, under the same names. `max_tokens` bounds the padded
    tokens of a batch. Dropout is off.
    """
    backbone.module.to(device).eval()
    head.to(device).eval()
    run = _Forward(backbone, head, recipe, device, max_tokens)
    if isinstance(task, Retrieval):
        collections = cast("Mapping[str, Collection]", parts)
        return rank(run, collections, cast("Mapping[str, EncodedCollection]", encoded), task.depth)
    return {
        split: _predict_rows(run, task, cast(pd.DataFrame, part), cast("Encoded", encoded[split]))
        for split, part in parts.items()
    }


def _predict_rows(run: _Forward, task: Task, part: pd.DataFrame, encoded: Encoded) -> pd.DataFrame:
    if isinstance(task, TokenClassification):
        return _tag(run, task, part, encoded)
    if isinstance(task, QuestionAnswering):
        return _answer(run, task, part, encoded)
    return _label(run, task, part, encoded)


class _Forward:
    """Runs backbone and head over all features of a split, batch by batch."""

    def __init__(
        self, backbone: Backbone, head: AnyHead, recipe: Recipe, device: str, max_tokens: int
    ) -> None:
        self._backbone = backbone
        self._head = head
        self.recipe = recipe
        self.device = device
        self._max_tokens = max_tokens
        self._layout = backbone.layout(device)

    def __call__(self, encoded: Encoded) -> Iterator[tuple[NDArray[np.int64], Batch, torch.Tensor]]:
        """Yield the rows of a batch, the batch and its outputs; the longest rows first."""
        for rows in split_by_tokens(np.diff(encoded.starts), self._max_tokens):
            batch = collate(encoded, rows, self._layout)
            outputs = compute_outputs(
                self._backbone, self._head, batch, self.recipe.precision, self.device
            )
            yield rows, batch, outputs


def _label(run: _Forward, task: Task, part: pd.DataFrame, encoded: Encoded) -> pd.DataFrame:
    """Predict a class or a number a row."""
    collected = [(encoded.example[rows], outputs.float()) for rows, _, outputs in run(encoded)]
    rows = np.concatenate([chosen for chosen, _ in collected])
    outputs = np.empty((len(part), *collected[0][1].shape[1:]), dtype=np.float32)
    outputs[rows] = torch.cat([values for _, values in collected]).cpu().numpy()
    frame = pd.DataFrame({"id": part["id"], "gold": part["label"]})
    if task.kind == "sequence_regression":
        return frame.assign(prediction=outputs.astype(np.float64))
    return frame.assign(prediction=outputs.argmax(1).astype(np.int64), logits=list(outputs))


def _tag(
    run: _Forward, task: TokenClassification, part: pd.DataFrame, encoded: Encoded
) -> pd.DataFrame:
    """Predict a tag a word."""
    classes = np.zeros(len(encoded.token_ids), dtype=np.int64)
    for _, batch, outputs in run(encoded):
        begins = encoded.targets["word"][batch.source] >= 0
        classes[batch.source[begins]] = outputs.argmax(-1).cpu().numpy()
    words = part["words"].map(len).to_numpy()
    predicted, unseen = choose_tags(encoded, classes, words, task.tag_names)
    return pd.DataFrame(
        {"id": part["id"], "gold": part["tags"], "prediction": predicted, "unseen": unseen}
    )


def _answer(
    run: _Forward, task: QuestionAnswering, part: pd.DataFrame, encoded: Encoded
) -> pd.DataFrame:
    """Predict an answer a question, and by how much no answer beats it."""
    choose = _choose_marked if run.recipe.head == "tagger" else _choose_spans
    texts, gaps, tokens = choose(run, task, part["context"].tolist(), encoded)
    _, feature = np.unique(encoded.example, return_index=True)  # any one of an example knows
    gold = list_tokens(*(encoded.targets[name][feature] for name in ("gold_first", "gold_last")))
    return pd.DataFrame(
        {
            "id": part["id"],
            "gold": [[answer["text"] for answer in answers] for answers in part["answers"]],
            "prediction_text": texts,
            "null_gap": gaps if task.unanswerable else 0.0,
            "gold_tokens": gold,
            "prediction_tokens": tokens,
        }
    )


def _choose_spans(
    run: _Forward, task: QuestionAnswering, contexts: list[str], encoded: Encoded
) -> tuple[list[str], NDArray[np.float64], list[list[int]]]:
    windows = np.empty((4, len(encoded.example)), dtype=np.float64)
    for rows, batch, outputs in run(encoded):
        found = best_spans(outputs, batch.targets["context_BL"], task.best, task.max_answer_tokens)
        null_B = outputs.float().sum(-1).gather(1, batch.targets["null"][:, None]).squeeze(1)
        windows[:, rows] = torch.stack(
            [*(value.double() for value in found), null_B.double()]
        ).cpu()
    return choose_answers(encoded, windows, contexts)


def _choose_marked(
    run: _Forward, task: QuestionAnswering, contexts: list[str], encoded: Encoded
) -> tuple[list[str], NDArray[np.float64], list[list[int]]]:
    odds = np.zeros(len(encoded.token_ids), dtype=np.float32)
    for _, batch, outputs in run(encoded):
        odds_BL = (outputs[..., 1].float() - outputs[..., 0].float()).cpu().numpy()
        is_token = np.arange(odds_BL.shape[1]) < batch.lengths_B.cpu().numpy()[:, None]
        odds[batch.source] = odds_BL[is_token]
    return mark_answers(encoded, odds, contexts)
