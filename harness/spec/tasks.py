"""Tasks: what is learnt from which data, and how it is scored; a class a kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from harness.spec.sources import Data, FurtherCollection, FurtherTestSet, LongDocuments, Splits
from harness.spec.value import ROLES, Name, Spec, canonical_json

PASSAGE_OVERLAP = 32
"""Tokens that neighbouring passages share where the card gives none: about a sentence."""

Kind = Literal[
    "sequence_classification",
    "sequence_regression",
    "token_classification",
    "question_answering",
    "retrieval",
]
LOWER_IS_BETTER = frozenset({"log_loss", "ece"})
ERROR_MODULES = frozenset(
    {"brier_score", "cer", "mae", "mape", "mase", "mse", "perplexity", "smape", "ter", "wer"}
)
"""Modules of the `evaluate` library whose numbers are errors."""


def is_error(metric: str) -> bool:
    """Say whether lower scores of a metric are the better ones, as far as its name is known."""
    prefix, _, rest = metric.partition("/")
    of_module = prefix == "evaluate" and rest.partition("/")[0] in ERROR_MODULES
    return metric in LOWER_IS_BETTER or of_module


class StartFrom(Spec):
    """The task of a grid whose runs leave the weights that runs of another one start from.

    Checkpoint and seed are the same, and so is the point, unless a rate is fixed.
    """

    task: Name
    learning_rate: float | None = Field(
        None, gt=0, description="of the runs to start from; None: that of the run itself"
    )


Start = Annotated[
    StartFrom,
    BeforeValidator(lambda value: {"task": value} if isinstance(value, str) else value),
]
"""`start_from: mnli` is short for `start_from: {task: mnli}`."""


class Size(Spec):
    """How large a task is, as published: what a plan counts with where the data are not here.

    Counts are of the splits as the card cuts them, by name, further test sets included.
    """

    examples: dict[Name, Annotated[int, Field(gt=0)]] = Field(
        description="split -> examples; for retrieval, training pairs and queries"
    )
    documents: dict[Name, Annotated[int, Field(gt=0)]] = Field(
        default_factory=dict, description="split -> documents ranked; retrieval only"
    )
    tokens: float = Field(gt=0, description="of an input, about")


class TaskCommon(Spec):
    """What every task card has."""

    name: Name
    description: str = ""
    data: Data
    splits: Splits = Splits()
    metrics: tuple[str, ...] = Field(min_length=1, description="the first one chooses the rate")
    max_length: int | None = Field(
        None, gt=0, description="tokens of an input; None: the checkpoint's own limit"
    )
    start_from: Start | None = None
    size: Size | None = None
    licence: str | None = None
    citation: str | None = None
    notes: str | None = None
    home: str | None = Field(
        None, description="folder of the card's file, where native files may lie; not for cards"
    )

    not_identity: ClassVar[frozenset[str]] = frozenset(
        {"description", "licence", "citation", "notes", "metrics", "home", "start_from", "size"}
    )
    same_rows: ClassVar[dict[str, Any]] = {"data": {"native": {"short_rows"}}}
    """Nested keys that decide whether data can be read at all, not what is read."""

    further_key: ClassVar[str]
    """The key of the card that holds its further test sets."""

    @model_validator(mode="after")
    def _size_is_of_its_splits(self) -> Self:
        splits = {*ROLES, *self.further}
        ranked = splits - {"train"} if isinstance(self, Retrieval) else set()
        for key, wanted in {"examples": splits, "documents": ranked}.items():
            given = wanted if self.size is None else set(getattr(self.size, key))
            if given != wanted:
                names = ", ".join(sorted(given ^ wanted))
                raise ValueError(f"size.{key}: needs one count for each split ({names})")
        return self

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of what can change a prediction: metrics and prose are left out."""
        left_out = dict.fromkeys(self.not_identity, True) | self.same_rows
        return canonical_json(self.model_dump(mode="json", exclude=left_out))

    @property
    def main_metric(self) -> str:
        """The metric that chooses the rate and fills the table."""
        return self.metrics[0]

    @property
    def further(self) -> tuple[str, ...]:
        """Names of the splits that are tested beside `test`; each has predictions and scores."""
        return tuple(getattr(self, self.further_key) or ())

    def with_further(self, names: Collection[str]) -> Self:
        """Give the task with only these of its further test sets.

        Raises:
            ValueError: it has no such test set.
        """
        for name in names:
            if name not in self.further:
                known = ", ".join(self.further) or "none"
                raise ValueError(f"{self.name} has no further test set {name!r} (it has: {known})")

        def kept(of: Mapping[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in of.items() if key in {*ROLES, *names}}

        update: dict[str, Any] = {self.further_key: kept(getattr(self, self.further_key) or {})}
        if self.size is not None:
            counts = {key: kept(getattr(self.size, key)) for key in ("examples", "documents")}
            update["size"] = self.size.model_copy(update=counts)
        return self.model_copy(update={key: value or None for key, value in update.items()})


def _refuse_roles(sets: dict[str, Any] | None) -> dict[str, Any] | None:
    for name in ROLES:
        if sets is not None and name in sets:
            raise ValueError(f"{name!r} is a split already; give another name")
    return sets


class TaskOfRows(TaskCommon):
    """What the cards of tasks have whose examples are rows."""

    test_sets: dict[Name, FurtherTestSet] | None = Field(
        None, min_length=1, description="name -> a test set beside `test`"
    )

    further_key = "test_sets"

    _own_names = field_validator("test_sets")(_refuse_roles)


def _refuse_repeated(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    for position, name in enumerate(names or ()):
        if name in names[:position]:  # type: ignore[index]
            raise ValueError(f"{name!r} stands twice")
    return names


Text = str | Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
"""A template such as `"Premise: {premise}"`, or one or two column names (two: a sentence pair)."""


class SequenceClassification(TaskOfRows):
    """One class out of several for a text or a pair of texts."""

    kind: Literal["sequence_classification"]
    text: Text
    label: str = "label"
    labels: tuple[str, ...] = Field(min_length=2, description="names; their order is the law")

    _each_once = field_validator("labels")(_refuse_repeated)


class SequenceRegression(TaskOfRows):
    """One number for a text or a pair of texts."""

    kind: Literal["sequence_regression"]
    text: Text
    label: str = "label"


class TokenClassification(TaskOfRows):
    """An entity tag for every word, IOB2."""

    kind: Literal["token_classification"]
    words: str = "tokens"
    tags: str = "tags"
    labels: tuple[str, ...] = Field(min_length=1, description="entity types, without B- and I-")
    overlap: int = Field(
        16, ge=0, description="words shared by windows of a long sentence, at most half of one"
    )
    tag_numbers: tuple[str, ...] | None = Field(
        None, description="tags behind numbers that a source does not name; None: `tag_names`"
    )

    _each_once = field_validator("labels", "tag_numbers")(_refuse_repeated)

    @property
    def tag_names(self) -> tuple[str, ...]:
        """O, then B- and I- of every entity type: the classes of the head, in order."""
        return ("O", *(f"{prefix}-{label}" for label in self.labels for prefix in "BI"))


class QuestionAnswering(TaskOfRows):
    """The span of a context that answers a question, or nothing."""

    kind: Literal["question_answering"]
    unanswerable: bool = Field(False, description="some questions have no answer in their context")
    stride: int = Field(128, gt=0, description="tokens shared by neighbouring windows of a context")
    best: int = Field(20, gt=0, description="n-best spans considered a window")
    max_answer_tokens: int = Field(30, gt=0)


class Retrieval(LongDocuments, TaskCommon):
    """Ranking the documents of a corpus for a query by the cosine of their embeddings."""

    kind: Literal["retrieval"]
    query: str = "{text}"
    document: str = "{title} {text}"
    query_max_length: int | None = Field(None, gt=0)
    corpus: Literal["full", "judged"] = Field(
        "full", description="rank all documents, or only those judged for some query of the split"
    )
    min_relevance: int = Field(
        1, ge=1, description="grade from which a document trains as positive"
    )
    depth: int = Field(100, gt=0, description="documents kept a query")
    collections: dict[Name, FurtherCollection] | None = Field(
        None, min_length=1, description="name -> a collection tested beside `test`"
    )

    further_key = "collections"

    _own_names = field_validator("collections")(_refuse_roles)

    @field_validator("long_documents")
    @classmethod
    def _truncate_is_the_default(cls, choice: str | None) -> str | None:
        return None if choice == "truncate" else choice  # said or not, it is the same run

    def document_template(self, split: str) -> str:
        """Give the template of the documents of a split."""
        further = (self.collections or {}).get(split)
        return self.document if further is None or further.document is None else further.document

    def document_length(self, split: str) -> int | None:
        """Give the length that the card sets for the documents of a split."""
        further = (self.collections or {}).get(split)
        return further.max_length if further and further.max_length else self.max_length

    def overlap_of_passages(self, split: str) -> int | None:
        """Give the tokens that passages of a split's documents share; None: they are truncated."""
        place: LongDocuments | None = (self.collections or {}).get(split)
        if place is None or place.long_documents is None:
            place = self
        if split == "train" or place.long_documents != "max_passage":
            return None
        return PASSAGE_OVERLAP if place.passage_overlap is None else place.passage_overlap


Task = Annotated[
    SequenceClassification
    | SequenceRegression
    | TokenClassification
    | QuestionAnswering
    | Retrieval,
    Field(discriminator="kind"),
]
