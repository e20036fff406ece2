"""Deep Imitation System: a network that throws what a strong player would throw.

As published (GAT 2016): 16 x, 16 y, end, shot and score difference in, vx, vy and spin out; three layers of 500 units with
tanh; the outputs multiplied by the priorities 30, 1 and 3 for training; mean squared error, batches of 128, 10,000 steps,
14,080 shots to learn from and 1,920 to judge by. RMSprop with the momentum form of Graves, as in Chainer, with its defaults.

Beside it stands a version whose output is a mixture of normal distributions over deliveries: where a player has two good
shots, their mean is none. It throws the mean of the likeliest component.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.curling.player import CurlingPlayer
from asobiba.core import AsobibaError, Ruleset
from asobiba.core.errors import MissingExtra

PRIORITIES = np.array([30.0, 1.0, 3.0])
INPUTS, HIDDEN, LAYERS = 35, 500, 3
COMPONENTS = 8
BATCH, STEPS = 128, 10_000
TRAINING, JUDGING = 14_080, 1_920
FILES = {"mean": "dis.npz", "mixture": "dis-mixture.npz"}


def features(view: np.void) -> np.ndarray:
    """The 35 inputs: x and y of the stones in the order thrown (0 where there is none), end, shot, lead of the mover."""
    seat = int(view["to_move"])
    lead = int(view["total"][seat] - view["total"][1 - seat])
    stones = view["stones"]
    return np.concatenate([stones[:, 0], stones[:, 1], [int(view["end"]), int(view["shot"]), lead]])


_SCALE = np.concatenate([np.full(32, 1.0), [0.1, 1 / 16, 0.25]])


def path_of(kind: str) -> Path:
    """The file of a trained network."""
    return Path(str(files("asobiba.baselines.curling") / "policies" / FILES[kind]))


def forward(weights: dict[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """The outputs `(n, outputs)` of a stored network for features `(n, 35)`."""
    x = (inputs * _SCALE).astype(np.float32)
    for k in range(LAYERS):
        x = np.tanh(x @ weights[f"w{k}"].astype(np.float32) + weights[f"b{k}"])
    return x @ weights[f"w{LAYERS}"].astype(np.float32) + weights[f"b{LAYERS}"]


def components(weights: dict[str, np.ndarray], inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities `(n, k)`, means and deviations `(n, k, 3)`, priorities taken out, of a mixture network."""
    out = forward(weights, inputs).reshape(len(inputs), COMPONENTS, 7)
    logits = out[..., 0] - out[..., 0].max(axis=1, keepdims=True)
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    centre = np.asarray(weights["centre"])
    return share, out[..., 1:4] / PRIORITIES + centre, np.exp(np.clip(out[..., 4:7], -5, 5)) / PRIORITIES


@cache
def load(path: str) -> dict[str, np.ndarray]:
    """A stored network.

    Raises:
        AsobibaError: if there is none.
    """
    if not Path(path).exists():
        raise AsobibaError(f"there is no trained network at {path}; make one with: asobiba curling train-dis")
    with np.load(path) as data:
        return dict(data)


class Imitation(CurlingPlayer):
    """Plays a stored network of either kind."""

    name = "dis"

    def __init__(self, kind: str, path: str = ""):
        self.kind, self.weights = kind, load(path or str(path_of(kind)))

    def choose(self, view: np.void) -> tuple[float, float, float]:
        inputs = features(view)[None]
        if self.kind == "mean":
            vx, vy, spin = forward(self.weights, inputs)[0] / PRIORITIES + self.weights["centre"]
        else:
            share, mean, _ = components(self.weights, inputs)
            vx, vy, spin = mean[0, int(share[0].argmax())]
        return float(vx), float(vy), 1.0 if spin >= 0 else -1.0


def prior_of(path: str = "", shots: int = 48) -> Callable[[Ruleset, np.void, np.random.Generator], np.ndarray]:
    """Deliveries drawn from the mixture network: a learned prior for kernel regression UCT."""
    weights = load(path or str(path_of("mixture")))

    def prior(ruleset: Ruleset, view: np.void, generator: np.random.Generator) -> np.ndarray:
        share, mean, deviation = components(weights, features(view)[None])
        chosen = generator.choice(COMPONENTS, shots, p=share[0] / share[0].sum())
        drawn = mean[0, chosen] + deviation[0, chosen] * generator.standard_normal((shots, 3))
        drawn[:, 2] = np.where(drawn[:, 2] >= 0, 1.0, -1.0)
        return drawn

    return prior


def train(inputs: np.ndarray, targets: np.ndarray, kind: str, steps: int, seed: int) -> tuple[dict[str, Any], dict]:
    """Trains a network.

    Args:
        inputs, targets: `(n, 35)` features and `(n, 3)` deliveries; the last 12 % are kept for judging, as in the paper.
        kind: mean or mixture.

    Returns:
        The weights as `load` gives them, and the errors: mean squared error with priorities, and of each output alone.
    """
    try:
        import torch
        from torch import nn
    except ImportError:
        raise MissingExtra("torch", "sb3") from None
    torch.manual_seed(seed)
    kept = round(len(inputs) * JUDGING / (TRAINING + JUDGING))
    centre = targets[:-kept].mean(axis=0) * np.array([1.0, 1.0, 0.0])
    x = torch.tensor(inputs * _SCALE, dtype=torch.float32)
    y = torch.tensor((targets - centre) * PRIORITIES, dtype=torch.float32)
    outputs = 3 if kind == "mean" else COMPONENTS * 7
    layers: list[nn.Module] = []
    for k in range(LAYERS):
        layers += [nn.Linear(INPUTS if k == 0 else HIDDEN, HIDDEN), nn.Tanh()]
    network = nn.Sequential(*layers, nn.Linear(HIDDEN, outputs))
    if kind == "mixture":
        # Components begin at shots that were thrown: from one place they would never part.
        last: Any = network[-1]
        with torch.no_grad():
            drawn = torch.randint(0, len(x) - kept, (COMPONENTS,))
            last.bias.view(COMPONENTS, 7)[:, 1:4] = y[drawn]
    if kind == "mean":
        optimiser: Any = torch.optim.RMSprop(
            network.parameters(), lr=1e-4, alpha=0.95, eps=1e-4, momentum=0.9, centered=True
        )
    else:
        optimiser = torch.optim.Adam(network.parameters(), lr=5e-4)

    def loss_of(out: Any, wanted: Any) -> Any:
        if kind == "mean":
            return ((out - wanted) ** 2).mean()
        parts = out.reshape(-1, COMPONENTS, 7)
        spread = parts[..., 4:7].clamp(-5, 5)
        density = -0.5 * ((wanted[:, None] - parts[..., 1:4]) / spread.exp()) ** 2 - spread
        return -torch.logsumexp(density.sum(-1) + torch.log_softmax(parts[..., 0], -1), -1).mean()

    for _ in range(steps):
        batch = torch.randint(0, len(x) - kept, (BATCH,))
        optimiser.zero_grad()
        loss_of(network(x[batch]), y[batch]).backward()
        optimiser.step()
    linear = [layer for layer in network if isinstance(layer, nn.Linear)]
    weights: dict[str, Any] = {"centre": centre}
    for k, layer in enumerate(linear):
        weights[f"w{k}"] = layer.weight.detach().numpy().T.astype(np.float16)
        weights[f"b{k}"] = layer.bias.detach().numpy()
    if kind == "mean":
        found = forward(weights, inputs[-kept:]) / PRIORITIES + centre
    else:
        share, mean, _ = components(weights, inputs[-kept:])
        found = mean[np.arange(kept), share.argmax(axis=1)]
    apart = found - targets[-kept:]
    errors = {
        "judged shots": kept,
        "mean squared error": float(((apart * PRIORITIES) ** 2).mean()),
        "sideways, m/s": float(np.abs(apart[:, 0]).mean()),
        "forward, m/s": float(np.abs(apart[:, 1]).mean()),
        "wrong spins": float(((found[:, 2] >= 0) != (targets[-kept:, 2] >= 0)).mean()),
    }
    return weights, errors


def save(weights: dict[str, Any], path: Path, record: dict) -> None:
    """Writes a network and, beside it, how it came about."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **weights)
    path.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
