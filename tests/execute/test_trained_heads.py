"""A checkpoint that was fine-tuned before brings a head and an order of labels; neither is used."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, BertForSequenceClassification

from harness.checkpoints import discover
from harness.execute.worker import Worker
from harness.predictions import read_predictions
from harness.spec import Run
from tests.small_world import SmallWorld


def test_the_labels_of_a_trained_head_never_reach_a_task(world: SmallWorld, tmp_path: Path) -> None:
    (run,) = world.grid("toy_sentiment").runs()
    folder = tmp_path / "tuned"
    names = {0: "positive", 1: "negative"}  # the card says negative, positive
    tuned = BertForSequenceClassification.from_pretrained(
        world.encoder.path, id2label=names, label2id={name: n for n, name in names.items()}
    )
    tuned.classifier.bias.data[0] = 50.0
    tuned.save_pretrained(folder)
    AutoTokenizer.from_pretrained(world.encoder.path).save_pretrained(folder)
    (checkpoint,) = discover(folder).checkpoints
    assert checkpoint.fingerprint != world.encoder.fingerprint
    worker = Worker(world.workplace(tmp_path / "study"))
    other = Run(task=run.task, checkpoint=checkpoint, recipe=run.recipe, seed=run.seed)
    records = [worker.execute(run), worker.execute(other)]
    assert [record["status"] for record in records] == ["ok", "ok"], records
    assert records[0]["scores"] == records[1]["scores"]
    frames = [read_predictions(tmp_path / "study", r["run_id"]) for r in records]
    assert frames[0].equals(frames[1])
    # The gold is what the file says, in the card's order: 1 is positive.
    lines = (world.folder / "data" / "toy_sentiment" / "test.tsv").read_text().splitlines()[1:]
    test = frames[1][frames[1]["split"] == "test"]
    written = [line.rsplit("\t", 1)[1] for line in lines]
    assert test["gold"].map({0: "negative", 1: "positive"}).tolist() == [
        {"0": "negative", "1": "positive"}.get(word, word) for word in written
    ]
