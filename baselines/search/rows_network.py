"""The network of `rows` with real weights, in PyTorch."""

from __future__ import annotations

import numpy as np
import torch

from asobiba.baselines.search.rows import MOST, NARROW, SHIFT, STEPS, UNIT, WIDTH


class RowsNetwork(torch.nn.Module):
    """Logits `(n,)` of steps `(n, inputs)` uint8."""

    def __init__(self, inputs: int):
        super().__init__()
        self.rows = torch.nn.Parameter(0.1 * torch.randn(inputs * STEPS, WIDTH))
        self.first = torch.nn.Parameter(torch.zeros(WIDTH))
        self.hidden, self.last = torch.nn.Linear(WIDTH, NARROW), torch.nn.Linear(NARROW, 1)
        self._offsets = torch.arange(inputs) * STEPS

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        most = MOST / UNIT
        sums = torch.nn.functional.embedding_bag(steps.long() + self._offsets, self.rows, mode="sum") + self.first
        return self.last(self.hidden(sums.clamp(0, most)).clamp(0, most))[:, 0]

    def whole(self) -> dict[str, np.ndarray]:
        """The weights as whole numbers, as `rows.load_rows` reads them."""
        return {
            "rows": _whole(self.rows, 1).reshape(-1, STEPS, WIDTH),
            "first": _whole(self.first, 1),
            "hidden": _whole(self.hidden.weight, 1),
            "second": _whole(self.hidden.bias, 2),
            "last": _whole(self.last.weight[0], 1),
            "bias": _whole(self.last.bias, 2),
        }


def _whole(values: torch.Tensor, shifts: int) -> np.ndarray:
    whole = np.rint(values.detach().double().numpy() * (1 << (shifts * SHIFT)))
    return np.clip(whole, -(1 << 15), (1 << 15) - 1).astype(np.int16) if shifts == 1 else whole.astype(np.int32)
