"""What a run is made of: task, checkpoint, recipe, seed. Frozen values without any I/O.

`run_id` is the first 16 hex digits of the SHA-256 of the canonical JSON of everything that can
change a score. A knob that is off is `None` and left out, so ids stay when new knobs are added.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

PROTOCOL = 1
"""Version of what a recipe means. It rises when the same recipe would give other scores."""

TEMPERATURE = 0.05
"""Of a retrieval task's loss, where the recipe gives none (a scale of 20, as the paper's)."""

PASSAGE_OVERLAP = 32
"""Tokens that neighbouring passages share where the card gives none: about a sentence."""

Kind = Literal[
    "sequence_classification",
    "sequence_regression",
    "token_classification",
    "question_answering",
    "retrieval",
]
Role = Literal["train", "validation", "test"]
ROLES: tuple[Role, ...] = ("train", "validation", "test")
Attention = Literal["native", "bidirectional", "causal"]
Pooling = Literal["mean", "first", "last"]
Precision = Literal["fp32", "bf16", "bf16_pure"]
LOWER_IS_BETTER = frozenset({"log_loss", "ece"})
"""Metrics that can't choose a rate, since the largest score is chosen."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class Spec(BaseModel):
    """A frozen value that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy as pydantic does, without cached identities, which would be the original's."""
        copy = super().model_copy(update=update, deep=deep)
        for name in set(copy.__dict__) - set(type(self).model_fields):
            del copy.__dict__[name]
        return copy


def canonical_json(value: Any) -> str:
    """Write a value as JSON with sorted keys and no spaces, leaving out what is None."""
    return json.dumps(
        _without_none(value),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )


def _without_none(value: Any) -> Any:
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value


# --- where the data of a task lies --------------------------------------------------------------


def _has_a_source(place: Any) -> Any:
    if place.hub is None and place.native is None:
        raise ValueError("needs `hub` or `native`")
    return place


class HubSource(Spec):
    """A data set of the hub, read through `datasets`."""

    path: str = Field(description="repository id, or a local folder that `datasets` can load")
    name: str | None = Field(None, description="configuration of the repository")
    revision: str | None = Field(None, description="commit or tag that pins the content")
    rename: dict[str, str] = Field(default_factory=dict, description="hub column -> card column")


class Files(Spec):
    """Native files, relative to the data root."""

    train: str
    validation: str | None = None
    test: str | None = None


class TableFiles(Files):
    """Rows in GLUE's TSV layout (no quoting), or csv, jsonl, parquet."""

    format: Literal["glue_tsv", "csv", "jsonl", "parquet"]
    columns: tuple[str, ...] | None = Field(None, description="names, for files without a header")
    rename: dict[str, str] = Field(default_factory=dict, description="file column -> card column")
    short_rows: Literal["leave_out"] | None = Field(
        None,
        description="rows with too few fields, glue_tsv only; None: refused by their line numbers",
    )

    @model_validator(mode="after")
    def _short_rows_belong_to_glue(self) -> TableFiles:
        if self.short_rows is not None and self.format != "glue_tsv":
            raise ValueError("`short_rows` is given with `format: glue_tsv`, and only there")
        return self


class ConllFiles(Files):
    """One token a line, sentences apart by blank lines, IOB2 tags."""

    format: Literal["conll"]
    token_column: int = 0
    tag_column: int = -1
    comment: str | None = Field(None, description="lines that begin so are no tokens")


class SquadFiles(Files):
    """The official SQuAD JSON, 1.1 or 2.0."""

    format: Literal["squad_json"]


class RecordFiles(Files):
    """ReCoRD's jsonl: passages with queries that have a gap."""

    format: Literal["record_jsonl"]


class BeirFolder(Spec):
    """A BEIR folder: corpus.jsonl, queries.jsonl, qrels/*.tsv. The roles name qrels files."""

    format: Literal["beir"]
    folder: str
    train: str
    validation: str | None = None
    test: str | None = None


class TopicFiles(Spec):
    """Queries (`id<TAB>text`) and their judgements in TREC or MS MARCO qrels layout."""

    queries: str
    qrels: str


class TrecFiles(Spec):
    """An MS MARCO collection (`id<TAB>passage`) with queries and qrels a role."""

    format: Literal["trec"]
    corpus: str
    train: TopicFiles
    validation: TopicFiles | None = None
    test: TopicFiles | None = None


class CranfieldFiles(Spec):
    """Cranfield 1400 in its own layout. It has one set of queries, which is the train role."""

    format: Literal["cranfield"]
    corpus: str
    queries: str
    qrels: str


NativeSource = Annotated[
    TableFiles | ConllFiles | SquadFiles | RecordFiles | BeirFolder | TrecFiles | CranfieldFiles,
    Field(discriminator="format"),
]


class FurtherTestSet(Spec):
    """A test set beside the main one, of the task's own format and data set."""

    hub: str | None = Field(None, description="split of the hub's data set")
    native: str | None = Field(None, description="file")

    _somewhere = model_validator(mode="after")(_has_a_source)


class TrecCollection(Spec):
    """Queries and judgements of another collection in TREC or MS MARCO layout."""

    format: Literal["trec"]
    corpus: str | None = Field(None, description="`id<TAB>passage`; None: the task's own corpus")
    queries: str
    qrels: str


class BeirCollection(Spec):
    """Another BEIR folder, and which of its qrels files counts."""

    format: Literal["beir"]
    folder: str
    qrels: str = "test"


class HubCollection(Spec):
    """A collection of the hub."""

    path: str
    revision: str | None = None
    layout: Literal["beir", "mteb", "mldr"] = Field(
        "beir",
        description="beir: judgements in `<path>-qrels`; mteb: in the configuration `default` of "
        "the repository itself; mldr: rows of a query with its `positive_passages`",
    )
    split: str = "test"


class LongDocuments(Spec):
    """What is ranked of a document that is longer than the length. Training has its beginning."""

    long_documents: Literal["truncate", "max_passage"] | None = Field(
        None,
        description="truncate: its beginning; max_passage: passages of that length, of which the "
        "best one is its score. Training pairs have the beginning of documents in both cases. "
        "None: truncate, or in a collection what the task says",
    )
    passage_overlap: int | None = Field(
        None,
        ge=0,
        description="tokens that neighbouring passages share, at most half of one; None: 32",
    )

    @model_validator(mode="after")
    def _overlap_belongs_to_passages(self) -> Self:
        if self.passage_overlap is not None and self.long_documents != "max_passage":
            raise ValueError(
                "`passage_overlap` is given with `long_documents: max_passage`, and only there"
            )
        return self


class FurtherCollection(LongDocuments):
    """A collection that the trained checkpoint is tested on, beside that of the task itself."""

    native: Annotated[TrecCollection | BeirCollection, Field(discriminator="format")] | None = None
    hub: HubCollection | None = None
    document: str | None = Field(None, description="template; None: the task's own")
    max_length: int | None = Field(None, gt=0, description="of documents; None: the task's own")

    _somewhere = model_validator(mode="after")(_has_a_source)


class Data(Spec):
    """Where the rows come from: native files where there is a data root with them, else the hub."""

    hub: HubSource | None = None
    native: NativeSource | None = None

    _somewhere = model_validator(mode="after")(_has_a_source)


class HoldOut(Spec):
    """A validation or test split taken out of train; its seed is the task's, never the run's."""

    of: Literal["train"] = "train"
    fraction: float = Field(gt=0, lt=1)
    seed: int = 42


class Limit(Spec):
    """At most so many examples a role (queries, for retrieval), a seeded sample in file order."""

    train: int | None = Field(None, gt=0)
    validation: int | None = Field(None, gt=0)
    test: int | None = Field(None, gt=0, description="of every test set")
    seed: int = 42


class Splits(Spec):
    """Which part of the source plays which role. Strings name splits of the hub's data set.

    A test split is held out of train first, a validation split out of what is left.
    """

    train: str = "train"
    validation: str | HoldOut = HoldOut(fraction=0.05)
    test: str | HoldOut = "test"
    limit: Limit | None = None


# --- tasks --------------------------------------------------------------------------------------


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


Text = str | Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
"""A template such as `"Premise: {premise}"`, or one or two column names (two: a sentence pair)."""


class SequenceClassification(TaskOfRows):
    """One class out of several for a text or a pair of texts."""

    kind: Literal["sequence_classification"]
    text: Text
    label: str = "label"
    labels: tuple[str, ...] = Field(min_length=2, description="names; their order is the law")


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
    overlap: int = Field(16, ge=0, description="words shared by windows of a long sentence")
    tag_numbers: tuple[str, ...] | None = Field(
        None, description="tags behind numbers that a source does not name; None: `tag_names`"
    )

    @field_validator("tag_numbers")
    @classmethod
    def _each_tag_once(cls, tags: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if tags is not None and len(set(tags)) != len(tags):
            raise ValueError("a tag stands twice")
        return tags

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


# --- checkpoint, recipe, run --------------------------------------------------------------------


class Checkpoint(Spec):
    """Pretrained weights with config and tokenizer, known by the fingerprint of their content."""

    name: str
    path: str = Field(description="local folder")
    fingerprint: str = Field(description="of weights, config and tokenizer, never of the path")
    attention: Attention = "native"
    pooling: Pooling = "mean"
    columns: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="what is known of it, for tables: size, objective, steps"
    )
    parameters: int | None = Field(None, description="count in the weight files")
    tokenizer: str | None = Field(None, description="folder of the tokenizer, where another one")
    weights: Literal["random"] | None = Field(
        None, description="drawn at random with the config in `path`; None: those in `path`"
    )

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of what can change a score; name, path and columns are left out."""
        return canonical_json(self.model_dump(include={"fingerprint", "attention", "pooling"}))


AnswerHead = Annotated[
    Literal["tagger"] | None, BeforeValidator(lambda value: None if value == "span" else value)
]
"""`span` is the default, and no knob."""


class Recipe(Spec):
    """Every number of a fine-tuning that can change a score."""

    learning_rate: float = Field(gt=0)
    max_steps: int = Field(1000, gt=0)
    max_epochs: float | None = Field(None, gt=0, description="whichever ends first; None: no limit")
    batch_size: int = Field(32, gt=0)
    schedule: Literal["linear", "cosine", "constant", "wsd"] = "linear"
    warmup_ratio: float = Field(0.1, ge=0, lt=1)
    decay_ratio: float | None = Field(
        None, gt=0, le=1, description="last part of a wsd schedule; wsd only, where it is needed"
    )
    weight_decay: float = Field(0.1, ge=0)
    decay_norms_and_biases: bool = False
    adam_betas: tuple[float, float] = (0.9, 0.95)
    adam_eps: float = Field(1e-5, gt=0)
    max_grad_norm: float | None = Field(1.0, gt=0, description="None: no clipping")
    precision: Precision = "fp32"
    batching: Literal["bucketed", "padded"] = Field(
        "bucketed",
        description="bucketed: like lengths together, within a window of shuffled batches",
    )
    bucket_batches: int = Field(50, gt=0, description="batches a shuffle window, when bucketed")
    micro_batch_tokens: int | None = Field(
        None, gt=0, description="padded tokens a forward pass; None: the whole batch at once"
    )
    dropout: float | None = Field(None, ge=0, lt=1, description="None: the checkpoint's own")
    temperature: float | None = Field(None, gt=0, description="retrieval only; None: 0.05")
    head: AnswerHead = Field(
        None, description="of answers; None: start and end; tagger: each token in it or not"
    )

    @field_validator("adam_betas")
    @classmethod
    def _betas_below_one(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError("each of the two must be at least 0 and below 1")
        return betas

    @model_validator(mode="after")
    def _decay_belongs_to_wsd(self) -> Recipe:
        if (self.decay_ratio is not None) != (self.schedule == "wsd"):
            raise ValueError("`decay_ratio` is given with `schedule: wsd`, and only there")
        if self.decay_ratio is not None and self.decay_ratio + self.warmup_ratio > 1:
            raise ValueError("`warmup_ratio` and `decay_ratio` add up to more than 1")
        return self

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of the recipe, without the knobs that are off or have nothing to turn."""
        idle = {"bucket_batches"} if self.batching == "padded" else set()
        return canonical_json(self.model_dump(mode="json", exclude=idle))

    def total_steps(self, examples: int) -> int:
        """Count the optimiser steps on a training split of that many examples."""
        if self.max_epochs is None:
            return self.max_steps
        steps_per_epoch = math.ceil(examples / self.batch_size)
        return max(1, min(self.max_steps, math.ceil(self.max_epochs * steps_per_epoch)))


class Run(Spec):
    """One fine-tuning: a task, a checkpoint, a recipe and a seed.

    `source` is the run whose final weights this one starts from; None: the checkpoint's own.
    """

    task: Task
    checkpoint: Checkpoint
    recipe: Recipe
    seed: int = Field(ge=0)
    source: str | None = Field(None, description="run_id")

    @cached_property
    def run_id(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical JSON of the run's identity."""
        source = "" if self.source is None else f'"source":"{self.source}",'
        text = (
            f'{{"checkpoint":{self.checkpoint.identity},"protocol":{PROTOCOL},'
            f'"recipe":{self.recipe.identity},"seed":{self.seed},{source}'
            f'"task":{self.task.identity}}}'
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]
