"""Where the data of a task lie, and which part of them plays which role."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from harness.spec.value import Spec


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

    @model_validator(mode="after")
    def _columns_stand_for_a_header(self) -> TableFiles:
        if self.columns is not None and self.format in {"jsonl", "parquet"}:
            raise ValueError(
                f"{self.format} names its columns itself; leave `columns` out, or use `rename`"
            )
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
