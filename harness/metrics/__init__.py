"""Scores of a run from its stored predictions; definitions in docs/metrics.md."""

from harness.metrics.scoring import check_metrics, is_collapsed, metric_fault, score

__all__ = ["check_metrics", "is_collapsed", "metric_fault", "score"]
