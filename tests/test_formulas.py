"""Networks of PyTorch as lists of operations: what they compute is what PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest

from asobiba.core import compiled
from asobiba.learn.formulas import compute
from asobiba.learn.policy_file import PolicyFileError

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from asobiba.learn.networks import BoardNetwork  # noqa: E402
from asobiba.learn.tracing import traced_module  # noqa: E402


@compiled()
def computed(operations, tables, numbers, row, apart):
    compute(operations, tables, numbers, row, apart)


def logits(found, observation):
    numbers = np.zeros(found.size, np.float32)
    numbers[: found.inputs] = observation
    numbers[found.inputs : found.inputs + len(found.constants)] = found.constants
    computed(
        found.operations, found.tables, numbers,
        np.zeros(found.longest, np.float32), np.zeros(found.longest, np.int64),
    )  # fmt: skip
    return numbers[found.policy : found.policy + found.actions]


def same(module, inputs, observations):
    found = traced_module(module, inputs)
    for observation in observations:
        with torch.no_grad():
            wanted = module(torch.as_tensor(observation, dtype=torch.float32)[None])[0].numpy()
        np.testing.assert_allclose(logits(found, observation), wanted, rtol=1e-5, atol=1e-5)


class Board(nn.Module):
    def __init__(self, actions):
        super().__init__()
        self.network = BoardNetwork({"planes": (2, 3, 4), "counts": (5,)}, actions, width=6, depth=2)

    def forward(self, x):
        return self.network.forward_actor(x)


@pytest.mark.parametrize("actions", [24, 7])
def test_convolutions(actions):
    """With logits by cells, and with a layer that reads the whole board."""
    torch.manual_seed(1)
    same(Board(actions), 29, np.random.default_rng(1).random((5, 29)) < 0.4)


class Many(nn.Module):
    """Every operation that formulas know."""

    def __init__(self):
        super().__init__()
        self.windows = nn.Conv2d(1, 3, (3, 2), stride=(1, 2), padding=(1, 0), dilation=(1, 2))
        self.register_buffer("order", torch.tensor([3, 0, 5]))

    def forward(self, x):
        counts = functional.one_hot(x[:, :4].long().clamp(max=3), 4).float()
        board = self.windows(x[:, :12].reshape(1, 1, 3, 4)).flatten(1)
        spread = x[:, 4:10].softmax(1)
        chosen = torch.where((x[:, :6] > 1) & ~(x[:, :6] >= 3), spread, -x[:, 6:12].exp() / (1 + x[:, :6].abs()))
        pooled = torch.cat([chosen.amax(1), chosen.amin(1), chosen.mean(1), (chosen**2).sum(1)])[None]
        products = torch.einsum("nij,njk->nik", counts, counts.transpose(1, 2)).flatten(1).tanh()
        marks = ((x[:, :3] == 2) | (x[:, :3] != x[:, 3:6])).float() - (x[:, :3] < 1).float() * (x[:, :3] <= 0).float()
        parts = [board, spread[:, self.order], chosen, pooled, products, marks, (1 / (x + 2)).log()]
        return functional.pad(torch.cat([one.reshape(1, -1) for one in parts], 1), (0, 2), value=7.0)


def test_other_operations():
    torch.manual_seed(2)
    same(Many(), 12, np.random.default_rng(2).integers(0, 5, (20, 12)))


class Unknown(nn.Module):
    def forward(self, x):
        return torch.erfinv(x / 9)


def test_an_operation_that_is_not_known_is_a_named_error():
    with pytest.raises(PolicyFileError, match="erfinv"):
        traced_module(Unknown(), 3)
