"""Statistics of scores: arrays in, numbers out; nothing here knows of files, frames or metrics.

Wherever something is best, chosen, ahead or reached, larger scores are the better ones: pass those
of a loss with a minus.

docs/statistics.md says in plain words which interval answers which question.
"""

from __future__ import annotations

from harness.stats.aggregates import (
    aggregate_bounds,
    improvement_bounds,
    interquartile_mean,
    mean_over_tasks,
    mean_rank_bounds,
    mean_ranks,
    median_over_tasks,
    performance_profile,
    probability_of_improvement,
    profile_bounds,
    resample_seeds,
)
from harness.stats.bootstrap import (
    Resampled,
    Statistic,
    f1_of_counts,
    mcc_of_counts,
    multi_bootstrap,
    over_examples,
    over_seeds_and_examples,
    percentile_bounds,
    ratio_of_sums,
    resample_examples,
)
from harness.stats.comparison import McNemar, compare_runs, groups, mcnemar, sign_flip
from harness.stats.corrections import benjamini_hochberg, holm
from harness.stats.dynamics import Crossing, crossing, steps_to_reach
from harness.stats.intervals import (
    Bounds,
    Estimate,
    Interval,
    Part,
    average,
    over_seeds,
    student_t,
    subtract,
)
from harness.stats.power import half_width, seeds_needed, smallest_difference
from harness.stats.selection import (
    Cell,
    Choice,
    choose,
    choose_and_report,
    choose_per_seed,
    is_at_edge,
    nested,
    report_per_seed,
)
from harness.stats.sensitivities import (
    Regret,
    Sensitivity,
    compare_regret,
    compare_sensitivity,
    compare_shares,
    expected_best,
    regret_of_common_rate,
    sensitivity,
    sensitivity_bounds,
    share,
)
from harness.stats.variance import Components, average_components, components, difference_components

__all__ = [
    "Bounds",
    "Cell",
    "Choice",
    "Components",
    "Crossing",
    "Estimate",
    "Interval",
    "McNemar",
    "Part",
    "Regret",
    "Resampled",
    "Sensitivity",
    "Statistic",
    "aggregate_bounds",
    "average",
    "average_components",
    "benjamini_hochberg",
    "choose",
    "choose_and_report",
    "choose_per_seed",
    "compare_regret",
    "compare_runs",
    "compare_sensitivity",
    "compare_shares",
    "components",
    "crossing",
    "difference_components",
    "expected_best",
    "f1_of_counts",
    "groups",
    "half_width",
    "holm",
    "improvement_bounds",
    "interquartile_mean",
    "is_at_edge",
    "mcc_of_counts",
    "mcnemar",
    "mean_over_tasks",
    "mean_rank_bounds",
    "mean_ranks",
    "median_over_tasks",
    "multi_bootstrap",
    "nested",
    "over_examples",
    "over_seeds",
    "over_seeds_and_examples",
    "percentile_bounds",
    "performance_profile",
    "probability_of_improvement",
    "profile_bounds",
    "ratio_of_sums",
    "regret_of_common_rate",
    "report_per_seed",
    "resample_examples",
    "resample_seeds",
    "seeds_needed",
    "sensitivity",
    "sensitivity_bounds",
    "share",
    "sign_flip",
    "smallest_difference",
    "steps_to_reach",
    "student_t",
    "subtract",
]
