from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.batching import plan_epoch, plan_steps, split_by_tokens
from harness.seeding import numpy_generator
from harness.spec import Recipe

some_lengths = st.lists(st.integers(1, 50), min_size=1, max_size=200).map(np.array)
some_recipes = st.builds(
    Recipe,
    learning_rate=st.just(1e-5),
    max_steps=st.integers(1, 30),
    batch_size=st.integers(1, 40),
    batching=st.sampled_from(["bucketed", "padded"]),
    bucket_batches=st.integers(1, 5),
)


def order(seed: int = 0) -> np.random.Generator:
    return numpy_generator(seed, "order")


@settings(deadline=None)
@given(some_lengths, some_recipes)
def test_an_epoch_covers_every_row_once(lengths, recipe):
    batches = plan_epoch(lengths, recipe, order())
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    sizes = sorted(map(len, batches), reverse=True)
    assert all(size == recipe.batch_size for size in sizes[:-1])


@settings(deadline=None)
@given(some_lengths, some_recipes)
def test_a_plan_has_a_batch_for_every_step(lengths, recipe):
    plan = plan_steps(lengths, recipe, order())
    assert len(plan) == recipe.max_steps
    assert min(map(len, plan)) >= 1


@settings(deadline=None)
@given(some_lengths, some_recipes, st.integers(0, 100))
def test_the_order_depends_on_the_seed_and_not_on_the_rate(lengths, recipe, seed):
    faster = recipe.model_copy(update={"learning_rate": 1.0, "precision": "bf16"})
    plans = [plan_steps(lengths, each, order(seed)) for each in (recipe, faster)]
    assert all(np.array_equal(a, b) for a, b in zip(*plans, strict=True))


def test_another_seed_gives_another_order():
    recipe = Recipe(learning_rate=1e-5, max_steps=3)
    plans = [plan_steps(np.full(300, 5), recipe, order(seed)) for seed in (0, 1)]
    assert not all(np.array_equal(a, b) for a, b in zip(*plans, strict=True))


def test_a_second_epoch_has_an_order_of_its_own():
    recipe = Recipe(learning_rate=1e-5, max_steps=4, batch_size=50)
    plan = plan_steps(np.full(100, 5), recipe, order())
    assert set(np.concatenate(plan[:2]).tolist()) == set(np.concatenate(plan[2:]).tolist())
    assert not np.array_equal(plan[0], plan[2])


def test_half_an_epoch_ends_where_the_recipe_says():
    recipe = Recipe(learning_rate=1e-5, max_steps=100, max_epochs=0.5, batch_size=10)
    assert len(plan_steps(np.full(100, 5), recipe, order())) == 5


def test_bucketed_batches_hold_like_lengths_and_waste_little():
    lengths = np.random.default_rng(0).integers(2, 100, 1600)
    waste = {}
    for batching in ("padded", "bucketed"):
        recipe = Recipe(learning_rate=1e-5, batching=batching)
        batches = plan_epoch(lengths, recipe, order())
        padded = sum(len(rows) * lengths[rows].max() for rows in batches)
        waste[batching] = padded / lengths.sum()
    assert waste["padded"] > 1.8
    assert waste["bucketed"] < 1.05


def test_a_bucketed_run_does_not_go_from_short_to_long():
    lengths = np.random.default_rng(0).integers(2, 100, 1600)
    recipe = Recipe(learning_rate=1e-5)
    means = [lengths[rows].mean() for rows in plan_epoch(lengths, recipe, order())]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5


@settings(deadline=None)
@given(some_lengths, st.integers(1, 200))
def test_groups_keep_to_the_token_budget_and_cover_every_row_once(lengths, max_tokens):
    groups = split_by_tokens(lengths, max_tokens)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(lengths)))
    for rows in groups:
        assert len(rows) == 1 or len(rows) * lengths[rows].max() <= max_tokens


def test_the_longest_group_comes_first():
    assert [g.tolist() for g in split_by_tokens(np.array([2, 9, 3, 2]), 6)] == [[1], [2, 0], [3]]
