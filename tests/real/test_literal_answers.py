"""Nothing but the edges of tokens is ever between a gold answer and its text.

Tokenizers without any piece longer than a character have an edge wherever a gold may begin or end.
With them every gold of every extract must come back from encoding and predicting literally, out of
several windows a context; a gold that does not is a fault of ours.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from harness.data.encode.answers import encode_questions
from harness.data.formats.squad import read_squad
from harness.data.standard import standard_frame
from harness.models.backbone import Backbone
from harness.models.batch import Batch
from harness.models.heads import SpanHead
from harness.predict import predict
from harness.spec import Checkpoint, QuestionAnswering, Recipe
from tests.data.conftest import make_task
from tests.real.trained_tokenizers import MAKERS, train_tokenizer

pytestmark = pytest.mark.real

GOLDS = {
    "squad/train-v1.1.json": 3807,
    "squad/xquad.en.json": 1190,
    "squad_v2/train-v2.0.json": 4371,
    "squad_v2/dev-v2.0.json": 1840,
}
MAX_LENGTH = 512
STRIDE = 256
LONGEST = 300  # tokens of an answer


class BlindBody(nn.Module):
    """Hidden states of zeros: whatever is answered, it is not from them."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(hidden_size=1, pad_token_id=0)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None
    ) -> object:
        return SimpleNamespace(last_hidden_state=torch.zeros(*input_ids.shape, 1))


class KnowingHead(SpanHead):
    """Scores the tokens that training aims at 1, and all others 0."""

    def forward(self, hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
        scores_BL2 = torch.zeros(*hidden_BLD.shape[:2], 2)
        for number, name in enumerate(("start", "end")):
            scores_BL2[..., number].scatter_(1, batch.targets[name][:, None], 1.0)
        return scores_BL2


@pytest.fixture(scope="module")
def task() -> QuestionAnswering:
    made = make_task(
        "question_answering", unanswerable=True, stride=STRIDE, max_answer_tokens=LONGEST
    )
    assert isinstance(made, QuestionAnswering)
    return made


@pytest.fixture(scope="module")
def frames(task: QuestionAnswering, real_data: Path) -> dict[str, pd.DataFrame]:
    """A row a gold, where a question has several."""
    found = {}
    for file in GOLDS:
        frame = standard_frame(task, read_squad(real_data / file)).explode("answers").dropna()
        found[file] = frame.assign(answers=frame["answers"].map(lambda gold: [gold])).reset_index()
    return found


@pytest.fixture(scope="module", params=MAKERS, ids=[make.__name__ for make in MAKERS])
def tokenizer(
    request: pytest.FixtureRequest,
    frames: dict[str, pd.DataFrame],
    tmp_path_factory: pytest.TempPathFactory,
) -> PreTrainedTokenizerFast:
    texts = [context for frame in frames.values() for context in frame["context"].unique()]
    folder = tmp_path_factory.mktemp(request.param.__name__)
    return train_tokenizer(request.param, texts, folder, characters=True)


@pytest.mark.parametrize("file", list(GOLDS))
def test_every_gold_comes_back_literally(
    file: str,
    frames: dict[str, pd.DataFrame],
    task: QuestionAnswering,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    frame = frames[file]
    golds = [answers[0]["text"] for answers in frame["answers"]]
    assert len(golds) == GOLDS[file]
    encoded = encode_questions(task, frame, tokenizer, MAX_LENGTH)
    assert (encoded.counts["unplaced"], encoded.counts["inexact"]) == (0, 0)
    assert (np.bincount(encoded.example) > 1).mean() > 0.6
    _, first_windows = np.unique(encoded.example, return_index=True)
    shown = encoded.targets["start"] != encoded.targets["null"]
    assert (~shown[first_windows]).mean() > 0.1  # found in a later window only
    predicted = predict(
        Backbone(BlindBody(), Checkpoint(name="blind", path=".", fingerprint="0" * 16)),
        KnowingHead(1, 2),
        task,
        {"test": frame},
        {"test": encoded},
        Recipe(learning_rate=1e-5),
        device="cpu",
        max_tokens=32_768,
    )
    assert predicted["test"]["prediction_text"].tolist() == golds
