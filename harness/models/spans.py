"""The best answer of each window of a context, from start and end scores."""

from __future__ import annotations

import torch


def best_spans(
    scores_BL2: torch.Tensor, context_BL: torch.Tensor, best: int, max_tokens: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Find the best span of at most `max_tokens` context tokens in each window.

    The `best` highest starts of a window are tried, each with every end that it may have. Returns
    (B,) tensors: score (start plus end; -inf where a window shows no context), start, end
    (inclusive).
    """
    scores_BL2 = scores_BL2.float().masked_fill(~context_BL.unsqueeze(-1), float("-inf"))
    length = scores_BL2.shape[1]
    start_BK, starts_BK = scores_BL2[..., 0].topk(min(best, length), dim=1)
    steps = torch.arange(min(max_tokens, length), device=scores_BL2.device)
    ends_BKM = starts_BK.unsqueeze(-1) + steps
    end_BKM = scores_BL2[..., 1].gather(1, ends_BKM.clamp(max=length - 1).flatten(1))
    end_BKM = end_BKM.view_as(ends_BKM).masked_fill(ends_BKM >= length, float("-inf"))
    end_BK, offset_BK = end_BKM.max(-1)
    score_B, which_B = (start_BK + end_BK).max(1)
    rows = torch.arange(len(which_B), device=which_B.device)
    start_B = starts_BK[rows, which_B]
    return score_B, start_B, start_B + offset_BK[rows, which_B]
