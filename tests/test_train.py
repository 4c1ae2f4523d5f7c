from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from transformers import BertForSequenceClassification, TrainingArguments
from transformers import get_linear_schedule_with_warmup as linear_schedule

from harness import train as train_module
from harness.batching import plan_steps
from harness.data.encode import EncodedCollection
from harness.errors import DivergedError
from harness.models.heads import build_head
from harness.seeding import numpy_generator, torch_generator
from harness.train import train
from tests.models.tiny import (
    ANSWERS,
    CLASSES,
    NUMBER,
    RANKING,
    TAGS,
    VOCABULARY,
    encoded_classes,
    encoded_texts,
    lengths_of,
    recipe,
    tiny_bert,
)


def fine_tune(backbone, task, encoded, chosen, seed=0, **more):
    """Reset, build the head, train; return the head and the statistics."""
    backbone.reset()
    head = build_head(
        task, 32, torch_generator(seed, "head"), initializer_range=0.2, answers=chosen.head
    )
    stats = train(backbone, head, task, chosen, encoded, seed=seed, device="cpu", **more)
    return head, stats


def weights_of(backbone, head) -> dict[str, torch.Tensor]:
    named = [*backbone.module.named_parameters(), *head.named_parameters(prefix="head")]
    return {name: value.detach().float().clone() for name, value in named}


def assert_equal_weights(first, second, tolerance=0.0):
    for name in first:
        torch.testing.assert_close(
            first[name],
            second[name],
            atol=tolerance,
            rtol=0,
            msg=lambda text, n=name: f"{n}: {text}",
        )


def encoded_tags(lengths: list[int]):
    """Every second token begins a word."""
    encoded = encoded_texts(lengths)
    places = np.concatenate([np.arange(length) for length in lengths])
    encoded.targets["word"] = np.where(places % 2, places // 2, -1).astype(np.int32)
    tags = np.where(places % 2, encoded.token_ids % 3, -100)
    encoded.targets["tag"] = tags.astype(np.int16)
    return encoded


def encoded_answers(lengths: list[int]):
    """All but the first token are context; the answer is the second one, or there is none."""
    features = len(lengths)
    encoded = encoded_texts(lengths)
    places = np.concatenate([np.arange(length) for length in lengths])
    start = (np.arange(features) % 2).astype(np.int32)
    encoded.targets.update(
        start=start,
        end=start,
        context_begin=np.ones(features, dtype=np.int32),
        gold_first=start - 1,
        gold_last=start - 1,
        null=np.zeros(features, dtype=np.int32),
        offset_start=np.where(places > 0, places, -1).astype(np.int32),
        offset_end=np.where(places > 0, places + 1, -1).astype(np.int32),
    )
    return encoded


def encoded_numbers(lengths: list[int]):
    encoded = encoded_texts(lengths)
    encoded.targets["label"] = np.linspace(0, 5, len(lengths)).astype(np.float32)
    return encoded


LENGTHS = lengths_of(20)
KINDS = {
    "classes": (CLASSES, encoded_classes(LENGTHS)),
    "number": (NUMBER, encoded_numbers(LENGTHS)),
    "tags": (TAGS, encoded_tags(LENGTHS)),
    "answers": (ANSWERS, encoded_answers(LENGTHS)),
    "marked answers": (ANSWERS, encoded_answers(LENGTHS)),
}
HEADS = {"marked answers": "tagger"}
COLLECTION = EncodedCollection(
    encoded_texts(lengths_of(8, 1)), encoded_texts(lengths_of(12, 2)), "one corpus"
)
PAIRS = np.array([[q, (5 * q + k) % 12] for q in range(8) for k in range(2)])


def test_the_loop_computes_what_a_plain_transformers_loop_computes(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_classes(LENGTHS)
    chosen = recipe(max_steps=8, warmup_ratio=0.25, adam_betas=(0.9, 0.99), weight_decay=0.2)
    losses = []
    head = build_head(CLASSES, 32, torch_generator(3, "head"), initializer_range=0.2)
    first_weight = head.linear.weight.detach().clone()
    ours = train(backbone, head, CLASSES, chosen, encoded, seed=3, device="cpu")

    model = BertForSequenceClassification.from_pretrained(
        tmp_path, num_labels=2, use_safetensors=True, attn_implementation="eager"
    ).train()
    linear = torch.nn.Linear(32, 2)
    linear.weight.data = first_weight
    linear.bias.data.zero_()
    named = [*model.bert.named_parameters(), *linear.named_parameters(prefix="head")]
    named = [(name, p) for name, p in named if "pooler" not in name]
    no_decay = ("bias", "LayerNorm.weight")
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if not n.endswith(no_decay)], "weight_decay": 0.2},
            {"params": [p for n, p in named if n.endswith(no_decay)], "weight_decay": 0.0},
        ],
        lr=1e-3,
        betas=(0.9, 0.99),
        eps=1e-5,
        foreach=False,
    )
    scheduler = linear_schedule(optimiser, 2, 8)
    for rows in plan_steps(encoded.lengths, chosen, numpy_generator(3, "order")):
        ids = [encoded.token_ids[encoded.starts[r] : encoded.starts[r + 1]] for r in rows]
        padded = torch.zeros(len(rows), max(map(len, ids)), dtype=torch.long)
        for row, tokens in zip(padded, ids, strict=True):
            row[: len(tokens)] = torch.from_numpy(tokens)
        mask = (padded > 0).long()
        hidden = model.bert(input_ids=padded, attention_mask=mask).last_hidden_state
        pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        loss = torch.nn.functional.cross_entropy(
            linear(pooled), torch.from_numpy(encoded.targets["label"][rows])
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in named], 1.0)
        optimiser.step()
        scheduler.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    assert ours.loss_first == pytest.approx(losses[0], abs=1e-5)
    assert ours.loss_last == pytest.approx(losses[-1], abs=1e-5)
    theirs = {name: p.detach() for name, p in named}
    mine = weights_of(backbone, head)
    mine = {name: value for name, value in mine.items() if "pooler" not in name}
    # rows that are read nowhere decay there too: they must agree as all others do
    assert_equal_weights(
        mine, {n.replace("head.", "head.linear."): v for n, v in theirs.items()}, 1e-5
    )


def test_training_learns(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_classes(lengths_of(64))
    _, stats = fine_tune(backbone, CLASSES, encoded, recipe(max_steps=120, batch_size=16))
    assert stats.loss_last < 0.2 < stats.loss_first
    assert stats.steps == 120
    assert stats.examples == 120 * 16


@pytest.mark.parametrize("kind", KINDS)
def test_micro_batches_keep_the_exact_gradient_for_uneven_lengths(tmp_path, kind):
    backbone = tiny_bert(tmp_path)
    task, encoded = KINDS[kind]
    results = []
    for micro_batch_tokens in (None, 30, 1):
        chosen = recipe(
            batch_size=20,
            max_steps=1,
            warmup_ratio=0,
            micro_batch_tokens=micro_batch_tokens,
            head=HEADS.get(kind),
        )
        results.append(gradients(backbone, task, encoded, chosen))
    for split in results[1:]:
        assert_equal_weights(results[0], split, 1e-6)


def test_the_gradient_cache_keeps_the_exact_gradient(tmp_path):
    backbone = tiny_bert(tmp_path)
    results = []
    for micro_batch_tokens in (None, 20):
        chosen = recipe(
            batch_size=16,
            max_steps=1,
            warmup_ratio=0,
            micro_batch_tokens=micro_batch_tokens,
            temperature=0.5,
        )
        results.append(gradients(backbone, RANKING, COLLECTION, chosen, pairs=PAIRS))
    assert_equal_weights(results[0], results[1], 1e-6)


def gradients(backbone, task, encoded, chosen, **more) -> dict[str, torch.Tensor]:
    """Give the gradient of one step, as plain gradient descent would use it."""
    backbone.reset()
    head = build_head(
        task, 32, torch_generator(0, "head"), initializer_range=0.2, answers=chosen.head
    )
    kept = {}

    def keep(optimiser, _args, _kwargs):
        for group in optimiser.param_groups:
            for number, parameter in enumerate(group["params"]):
                if parameter.grad is not None:
                    kept[f"{group['weight_decay']} {number}"] = parameter.grad.clone()

    hook = register_optimizer_step_pre_hook(keep)
    try:
        train(backbone, head, task, chosen, encoded, seed=0, device="cpu", **more)
    finally:
        hook.remove()
    assert len(kept) > 20
    return kept


def test_the_gradient_cache_sees_the_same_dropout_twice(tmp_path):
    # With dropout the gradient at the embeddings belongs to the embeddings of the first pass only.
    from harness.models.batch import collate
    from harness.models.contrastive import Side, backward_pairs

    backbone = tiny_bert(tmp_path, dropout=0.2)
    backbone.module.train()
    head = build_head(RANKING, 32, torch_generator(0, "head"))
    layout = backbone.layout("cpu")
    seen: list[torch.Tensor] = []

    def embed(batch):
        embedded = head(backbone.hidden(batch), batch)
        seen.append(embedded.detach())
        return embedded

    sides = []
    for part in (COLLECTION.queries, COLLECTION.documents):
        places = [np.array([2, 0]), np.array([1])]
        sides.append(Side([collate(part, p, layout) for p in places], places))
    mask = torch.zeros(3, 3, dtype=torch.bool)
    backward_pairs(embed, sides[0], sides[1], mask, 0.05)
    assert len(seen) == 8
    for first, second in zip(seen[:4], seen[4:], strict=True):
        assert torch.equal(first, second)


def test_retrieval_learns_its_pairs(tmp_path):
    backbone = tiny_bert(tmp_path)
    chosen = recipe(max_steps=80, batch_size=8)
    pairs = np.stack([np.arange(8), np.arange(8)], axis=1)
    _, stats = fine_tune(backbone, RANKING, COLLECTION, chosen, pairs=pairs)
    assert stats.loss_last < 0.3 * stats.loss_first
    assert stats.examples == 640


@pytest.mark.parametrize("kind", KINDS)
def test_a_reused_backbone_gives_the_same_weights_as_a_fresh_one(tmp_path, kind):
    task, encoded = KINDS[kind]
    fresh = tiny_bert(tmp_path / "a", dropout=0.1)
    chosen = recipe(head=HEADS.get(kind))
    head, stats = fine_tune(fresh, task, encoded, chosen)
    expected = weights_of(fresh, head)

    used = tiny_bert(tmp_path / "b", dropout=0.1)
    fine_tune(used, CLASSES, KINDS["classes"][1], recipe(precision="bf16_pure", dropout=0.5), 7)
    torch.rand(5)
    head, again = fine_tune(used, task, encoded, chosen)
    assert_equal_weights(expected, weights_of(used, head))
    assert (stats.loss_first, stats.loss_last) == (again.loss_first, again.loss_last)


def test_another_seed_gives_another_result(tmp_path):
    backbone = tiny_bert(tmp_path)
    losses = [
        fine_tune(backbone, CLASSES, encoded_classes(LENGTHS), recipe(), seed)[1].loss_last
        for seed in (0, 1)
    ]
    assert losses[0] != losses[1]


def test_leaving_out_unread_rows_changes_nothing(tmp_path, monkeypatch):
    from contextlib import nullcontext

    from harness.models.vocabulary import UnreadRows

    backbone = tiny_bert(tmp_path)
    encoded = encoded_classes([4] * 6)
    assert len(np.unique(encoded.token_ids)) < VOCABULARY / 2
    head, _ = fine_tune(backbone, CLASSES, encoded, recipe(weight_decay=1.0))
    pruned = weights_of(backbone, head)
    monkeypatch.setattr(train_module, "only_rows", lambda *_: nullcontext(UnreadRows()))
    head, _ = fine_tune(backbone, CLASSES, encoded, recipe(weight_decay=1.0))
    assert_equal_weights(pruned, weights_of(backbone, head), 1e-6)


def test_a_divergence_names_its_step(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_numbers(LENGTHS)
    encoded.targets["label"][7] = np.inf
    chosen = recipe(max_steps=10, batching="padded")
    plan = plan_steps(encoded.lengths, chosen, numpy_generator(0, "order"))
    step = next(number for number, rows in enumerate(plan, start=1) if 7 in rows)
    assert step > 1
    with pytest.raises(DivergedError, match=f"diverged in step {step} of 10") as caught:
        fine_tune(backbone, NUMBER, encoded, chosen)
    assert caught.value.step == step
    assert not backbone.module.training
    assert len(backbone.module.get_input_embeddings().weight) == VOCABULARY


def test_a_divergence_that_is_looked_at_later_still_names_its_step(tmp_path, monkeypatch):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_numbers(LENGTHS)
    encoded.targets["label"][:] = 1e30  # its square is no fp32 number
    watched = train_module._Watch

    def rare(*arguments):
        watch = watched(*arguments)
        watch._every = 50
        return watch

    monkeypatch.setattr(train_module, "_Watch", rare)
    with pytest.raises(DivergedError) as caught:
        fine_tune(backbone, NUMBER, encoded, recipe(max_steps=6))
    assert caught.value.step == 1


def test_small_updates_vanish_in_pure_bf16_and_not_in_bf16(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_classes(LENGTHS)
    unchanged = {}
    for precision in ("fp32", "bf16", "bf16_pure"):
        chosen = recipe(
            learning_rate=1e-5, precision=precision, max_steps=2, warmup_ratio=0, weight_decay=0
        )
        fine_tune(backbone, CLASSES, encoded, chosen)
        name = "encoder.layer.0.output.dense.weight"
        before = backbone.state[name]
        after = backbone.module.state_dict()[name].detach()
        before = before.bfloat16() if precision == "bf16_pure" else before
        unchanged[precision] = (after == before).float().mean().item()
        assert after.dtype == (torch.bfloat16 if precision == "bf16_pure" else torch.float32)
    assert unchanged["fp32"] < 0.01
    assert unchanged["bf16"] < 0.01
    assert unchanged["bf16_pure"] > 0.5


def test_bf16_is_near_to_fp32(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_classes(LENGTHS)
    losses = {
        precision: fine_tune(backbone, CLASSES, encoded, recipe(precision=precision))[1].loss_last
        for precision in ("fp32", "bf16", "bf16_pure")
    }
    assert losses["bf16"] == pytest.approx(losses["fp32"], abs=0.02)
    assert losses["bf16_pure"] == pytest.approx(losses["fp32"], abs=0.1)
    assert len(set(losses.values())) == 3


def test_every_step_is_reported(tmp_path):
    backbone = tiny_bert(tmp_path)
    seen = []
    fine_tune(
        backbone,
        CLASSES,
        encoded_classes(LENGTHS),
        recipe(max_steps=3),
        on_step=lambda done, steps: seen.append((done, steps)),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_counts_are_those_of_the_batches_seen(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_classes([3] * 6)
    _, stats = fine_tune(backbone, CLASSES, encoded, recipe(max_steps=4, batch_size=4))
    assert (stats.steps, stats.examples, stats.tokens) == (4, 12, 36)  # 4 + 2 + 4 + 2
    assert set(stats.phases) == {"plan", "compute", "update"}


def test_warm_up_steps_are_counted_as_trainer_counts_them():
    from harness.optim import schedule_multiplier

    for steps in (7, 10, 250, 1000):
        arguments = TrainingArguments(output_dir="unused", warmup_steps=0.1, use_cpu=True)
        warmup = arguments.get_warmup_steps(steps)
        ones = [schedule_multiplier(recipe(), step, steps) for step in range(steps)]
        assert ones.index(1.0) == warmup
