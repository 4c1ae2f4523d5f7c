"""BEIR, MS MARCO and TREC files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.data.formats.ranking import read_beir_texts, read_qrels, read_tsv_texts
from harness.errors import DataError


def test_topics_survive_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "topics").write_bytes(b"7\twho is aziz hashim\r\n8\twhere\r\n")
    frame = read_tsv_texts(tmp_path / "topics")
    assert frame.to_dict("list") == {"id": ["7", "8"], "text": ["who is aziz hashim", "where"]}


def test_long_collections_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.data.formats.ranking.LINES_AT_ONCE", 2)
    path = tmp_path / "collection"
    path.write_text("".join(f"{n}\tpassage {n}\n" for n in range(5)))
    frame = read_tsv_texts(path)
    assert frame["id"].tolist() == [str(n) for n in range(5)]
    assert frame["text"][4] == "passage 4"
    assert frame.index.tolist() == list(range(5))
    path.write_text(path.read_text() + "no text\n")
    with pytest.raises(DataError, match="collection:6: 1 rows do not have 2 fields"):
        read_tsv_texts(path)


def test_only_the_documents_kept_are_in_the_frame(tmp_path: Path) -> None:
    tsv, beir = tmp_path / "collection", tmp_path / "corpus.jsonl"
    tsv.write_text("".join(f"{n}\tpassage {n}\n" for n in range(9)) + "7 \t of no interest\n")
    objects = [{"_id": n, "title": f"T{n}", "text": f" passage {n}"} for n in range(9)]
    beir.write_text("\n".join(map(json.dumps, [*objects, objects[0]])))
    kept = frozenset({"2", "5", "11"})
    texts = {"id": ["2", "5"], "text": ["passage 2", "passage 5"]}
    assert read_tsv_texts(tsv, kept).to_dict("list") == texts
    assert read_beir_texts(beir, kept).to_dict("list") == texts | {"title": ["T2", "T5"]}
    assert read_tsv_texts(tsv, frozenset({"11"})).to_dict("list") == {"id": [], "text": []}


def test_faults_are_named_by_their_lines_where_few_documents_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "collection"
    path.write_text("".join(f"{n}\tpassage {n}\n" for n in (0, 1, 2, 1, 0, 2)))
    with pytest.raises(DataError, match="collection:6: id '2' occurs twice"):
        read_tsv_texts(path, frozenset({"2"}))
    path.write_text("0\tpassage\nno text\n")  # of no document that is kept
    with pytest.raises(DataError, match="collection:2: 1 rows do not have 2 fields"):
        read_tsv_texts(path, frozenset({"0"}))
    path.write_text('{"_id": "0", "text": "a"}\n{"_id": "1", "text": null}\n')
    with pytest.raises(DataError, match="collection:2: needs `_id` and `text`"):
        read_beir_texts(path, frozenset({"0"}))


def test_beir_documents_may_lack_title_and_text(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": 1, "title": null, "text": ""}\n{"_id": "2", "title": "T", "text": "two"}\n'
    )
    frame = read_beir_texts(tmp_path / "corpus.jsonl")
    assert frame.to_dict("list") == {"id": ["1", "2"], "title": ["", "T"], "text": ["", "two"]}


def test_all_three_layouts_of_qrels_are_read(tmp_path: Path) -> None:
    (tmp_path / "trec").write_text("q1 Q0 d1 3\nq1 0 d2 0\n")
    (tmp_path / "msmarco").write_text("q1\t0\td1\t3\nq1\t0\td2\t0\n")
    (tmp_path / "beir").write_text("query-id\tcorpus-id\tscore\nq1\td1\t3\nq1\td2\t0\n")
    for name in ("trec", "msmarco", "beir"):
        assert read_qrels(tmp_path / name).to_dict("list") == {
            "query_id": ["q1", "q1"],
            "document_id": ["d1", "d2"],
            "relevance": [3, 0],
        }


def test_repeated_ids_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\tone\n2\ttwo\n1\tagain\n")
    with pytest.raises(DataError, match="a:3: id '1' occurs twice"):
        read_tsv_texts(tmp_path / "a")


def test_a_judgement_may_be_repeated_but_not_contradicted(tmp_path: Path) -> None:
    (tmp_path / "same").write_text("q 0 d 1\nq 0 d 1\n")
    (tmp_path / "other").write_text("q 0 d 1\nq 0 d 2\n")
    assert len(read_qrels(tmp_path / "same")) == 1
    with pytest.raises(DataError, match="other:2: query 'q' and document 'd' have two different"):
        read_qrels(tmp_path / "other")
    (tmp_path / "beir").write_text("query-id\tcorpus-id\tscore\nq\td\t1\nq\td\t1\nq\td\t2\n")
    with pytest.raises(DataError, match="beir:4: query 'q' and document 'd' have two different"):
        read_qrels(tmp_path / "beir")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 d 1\nq 0 d\n", "qrels:2: not a judgement"),
        ("q 0 d 1\nq 0 d high\n", "qrels:2: not a judgement"),
        ("q 0 d high\nq 0 e 1\n", "qrels:1: not a judgement"),  # no header: that has three
        ("query-id\tcorpus-id\tscore\n", "3 or 4 columns, there are 0"),
        ("q 1\n", "3 or 4 columns, there are 2"),
    ],
)
def test_bad_qrels_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "qrels").write_text(content)
    with pytest.raises(DataError, match=message):
        read_qrels(tmp_path / "qrels")


def test_ids_between_tabs_may_hold_blanks(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("query-id\tcorpus-id\tscore\nq 1\tpage 7\t1\n")
    assert read_qrels(tmp_path / "qrels").to_dict("list") == {
        "query_id": ["q 1"],
        "document_id": ["page 7"],
        "relevance": [1],
    }


def test_a_title_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "title": 2001, "text": "a"}\n')
    with pytest.raises(DataError, match=r"corpus\.jsonl:1: `title` is 2001"):
        read_beir_texts(tmp_path / "corpus.jsonl")
