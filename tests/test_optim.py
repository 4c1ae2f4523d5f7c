from __future__ import annotations

import pytest
import torch
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

from harness.optim import make_optimiser, schedule_multiplier
from harness.spec import Recipe
from tests.models.tiny import tiny_bert


def multipliers(steps: int, **recipe) -> list[float]:
    chosen = Recipe(learning_rate=1.0, **recipe)
    return [round(schedule_multiplier(chosen, step, steps), 6) for step in range(steps)]


def test_linear_rises_and_falls():
    expected = [0.0, 0.5, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
    assert multipliers(10, schedule="linear", warmup_ratio=0.2) == expected


def test_cosine_falls_like_a_cosine():
    assert multipliers(4, schedule="cosine", warmup_ratio=0.0) == [1.0, 0.853553, 0.5, 0.146447]


def test_constant_stays_after_its_warm_up():
    assert multipliers(4, schedule="constant", warmup_ratio=0.5) == [0.0, 0.5, 1.0, 1.0]


def test_wsd_warms_up_stays_and_decays():
    expected = [0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
    assert multipliers(10, schedule="wsd", warmup_ratio=0.2, decay_ratio=0.4) == expected


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("linear", get_linear_schedule_with_warmup), ("cosine", get_cosine_schedule_with_warmup)],
)
def test_linear_and_cosine_are_those_of_transformers(name, theirs):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = theirs(optimiser, 3, 23)
    recipe = Recipe(learning_rate=1.0, schedule=name, warmup_ratio=0.1)
    for step in range(23):
        rate = optimiser.param_groups[0]["lr"]
        assert schedule_multiplier(recipe, step, 23) == pytest.approx(rate, abs=1e-12)
        optimiser.step()
        scheduler.step()


def test_norms_and_biases_do_not_decay_unless_asked_to(tmp_path):
    module = tiny_bert(tmp_path).module
    optimiser = make_optimiser([module], Recipe(learning_rate=1e-3))
    decayed, kept = optimiser.param_groups
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.1, 0.0)
    names = {parameter: name for name, parameter in module.named_parameters()}
    kept_names = {names[parameter] for parameter in kept["params"]}
    assert all("LayerNorm" in name or name.endswith("bias") for name in kept_names)
    assert not any("LayerNorm" in names[parameter] for parameter in decayed["params"])
    everything = Recipe(learning_rate=1e-3, decay_norms_and_biases=True)
    assert len(make_optimiser([module], everything).param_groups) == 1


def test_the_pooler_of_pretraining_is_not_trained(tmp_path):
    module = tiny_bert(tmp_path).module
    trained = {
        id(parameter)
        for group in make_optimiser([module], Recipe(learning_rate=1e-3)).param_groups
        for parameter in group["params"]
    }
    assert not any(id(parameter) in trained for parameter in module.pooler.parameters())
