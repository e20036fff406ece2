"""The distribution over legal actions that MaskablePPO learns with, computed once.

sb3-contrib's own normalises the logits twice, with and without the mask, checks every tensor for values out of range, and
draws with `torch.multinomial`; with a small network this is half of the cost of a sample. The distribution is the same;
draws take one uniform number each and therefore differ.
"""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution

LEAST = -1e8
"""Logit of an illegal action, as in sb3-contrib."""


class MaskedChoice(MaskableCategoricalDistribution):
    """A drop-in for sb3-contrib's distribution over discrete actions. Shapes: logits and masks `(n, actions)`."""

    _logits: torch.Tensor
    _logs: torch.Tensor | None = None

    def proba_distribution(self, action_logits: torch.Tensor) -> MaskedChoice:
        """Takes the logits; all actions are legal until there are masks."""
        self._plain = self._logits = action_logits.view(-1, self.action_dim)
        self._logs = None
        return self

    def apply_masking(self, masks: Any) -> None:
        """Masks may be bool or numbers, arrays or tensors; `None` means that all actions are legal."""
        self._logits, self._logs = self._plain, None
        if masks is not None:
            legal = torch.as_tensor(masks, dtype=torch.bool, device=self._plain.device).view(self._plain.shape)
            self._logits = self._plain.masked_fill(~legal, LEAST)

    def _log_probabilities(self) -> torch.Tensor:
        if self._logs is None:
            self._logs = torch.log_softmax(self._logits, 1)
        return self._logs

    def _probabilities(self) -> torch.Tensor:
        # The exponential of the above is ten times slower: its general code stumbles over results that underflow.
        return torch.softmax(self._logits, 1)

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """`(n,)`, for actions `(n,)`."""
        return self._log_probabilities().gather(1, actions.long().view(-1, 1)).squeeze(1)

    def entropy(self) -> torch.Tensor:
        """`(n,)`; illegal actions, whose probability is exactly 0, add nothing."""
        return -(self._probabilities() * self._log_probabilities()).sum(1)

    def sample(self) -> torch.Tensor:
        """Draws actions `(n,)`: the first whose cumulated probability exceeds a uniform number."""
        sums = self._probabilities().cumsum(1)
        # Rounded sums end a little below or above 1; a number below the last one belongs to a legal action.
        total = sums[:, -1:]
        drawn = torch.minimum(torch.rand_like(total) * total, torch.nextafter(total, torch.zeros_like(total)))
        return (sums <= drawn).sum(1)

    def mode(self) -> torch.Tensor:
        """The most probable actions `(n,)`."""
        return self._logits.argmax(1)


def quicken(model: Any) -> None:
    """Gives a MaskablePPO of discrete actions this distribution; other learners stay as they are."""
    if isinstance(model, MaskablePPO) and type(model.policy.action_dist) is MaskableCategoricalDistribution:
        model.policy.action_dist = MaskedChoice(model.policy.action_dist.action_dim)
