"""Deep Imitation System: a network that predicts a strong player's shots.

As published (GAT 2016): 16 x, 16 y, end, shot and score difference in, vx, vy and spin out; three layers of 500 units with
tanh; the outputs multiplied by the priorities 30, 1 and 3 for training; mean squared error, batches of 128, 10,000 steps,
14,080 shots to learn from and 1,920 to judge by. RMSprop with the momentum form of Graves, as in Chainer, with its defaults.
Places are those of cs2's own frame, in which a stone that is not there has the coordinates (0, 0), far from the house. The
paper's "10000 times" is read as steps, or as passes over all shots (`passes`).

Where both spins bring about the same position, a searching teacher throws either, and the mean of the two is no shot. Such
targets are given the counter-clockwise spin (`with_one_spin`).

A second version learns from all available shots and from their mirror images, sees each side's stones
by their distance from the tee, and whose output is a mixture: eight deliveries, each with its probability, its spread and the
probability of its spin. The mean of two good shots is not a good shot. So it throws its likeliest component.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.curling.player import CurlingPlayer, free_stop, free_stop_of
from asobiba.core import AsobibaError, GameParameterError, Ruleset
from asobiba.core.errors import MissingExtra
from asobiba.envs.curling.rules import STONES_EACH
from asobiba.envs.curling.simulate import Shot, simulate
from asobiba.envs.curling.simulation import STONES
from asobiba.envs.curling.simulators import CS2, SIMULATORS

PRIORITIES = np.array([30.0, 1.0, 3.0])
HIDDEN, LAYERS = 500, 3
COMPONENTS, PER_COMPONENT = 8, 6
"""Deliveries of the mixture; each has a logit, the means and the logarithms of the spreads of vx and vy, and a spin logit."""
BATCH, STEPS = 128, 10_000
TRAINING, JUDGING = 14_080, 1_920
FILES = {"mean": "dis.npz", "mixture": "dis-mixture.npz"}
_TEE_X, _TEE_Y = 2.375, 4.88
"""m, the tee in cs2's frame, whose y points at the thrower."""
_SLOT = 4


def published_features(view: np.void) -> np.ndarray:
    """The 35 inputs: x and y of the stones in the order thrown, end, shot, lead of the mover."""
    seat = int(view["to_move"])
    here = view["in_play"] != 0
    x = np.where(here, _TEE_X + view["stones"][:, 0], 0.0)
    y = np.where(here, _TEE_Y - view["stones"][:, 1], 0.0)
    lead = int(view["total"][seat] - view["total"][1 - seat])
    return np.concatenate([x, y, [int(view["end"]) / 10, int(view["shot"]) / STONES, lead / 4]])


def sorted_features(view: np.void) -> np.ndarray:
    """The mover's stones, then the other's, nearest to the tee first: x, y, distance (m) and 1, or 0; which shot comes,
    one-hot; end, lead, and the shots to come: `(84,)`."""
    seat, shot = int(view["to_move"]), int(view["shot"])
    out = np.zeros(2 * STONES_EACH * _SLOT + STONES + 4)
    distance = np.hypot(view["stones"][:, 0], view["stones"][:, 1])
    for side in range(2):
        rows = [k for k in range((shot + side) % 2, STONES, 2) if view["in_play"][k]]
        for n, k in enumerate(sorted(rows, key=lambda k: distance[k])):
            at = (side * STONES_EACH + n) * _SLOT
            out[at : at + _SLOT] = *view["stones"][k], distance[k], 1.0
    at = 2 * STONES_EACH * _SLOT
    out[at + shot] = 1.0
    lead = int(view["total"][seat] - view["total"][1 - seat])
    out[at + STONES :] = int(view["end"]) / 10, lead / 4, (STONES - shot) / STONES, float(int(view["hammer"]) == seat)
    return out


FEATURES: dict[str, Callable[[np.void], np.ndarray]] = {"mean": published_features, "mixture": sorted_features}


def mirrored(inputs: np.ndarray) -> np.ndarray:
    """Sorted features of the positions with left and right exchanged."""
    other = inputs.copy()
    other[:, : 2 * STONES_EACH * _SLOT : _SLOT] *= -1
    return other


def path_of(kind: str) -> Path:
    """The file of a trained network."""
    return Path(str(files("asobiba.baselines.curling") / "policies" / FILES[kind]))


def forward(weights: dict[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """The outputs `(n, outputs)` of a stored network for its features `(n, inputs)`."""
    x = inputs.astype(np.float32)
    for k in range(LAYERS):
        x = np.tanh(x @ weights[f"w{k}"].astype(np.float32) + weights[f"b{k}"])
    return x @ weights[f"w{LAYERS}"].astype(np.float32) + weights[f"b{LAYERS}"]


def components(
    weights: dict[str, np.ndarray], inputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The components of a mixture network: probabilities `(n, k)`, means and deviations `(n, k, 2)`, m/s, and the
    probabilities of
    counter-clockwise spin `(n, k)`."""
    out = forward(weights, inputs).reshape(len(inputs), COMPONENTS, PER_COMPONENT)
    logits = out[..., 0] - out[..., 0].max(axis=1, keepdims=True)
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    mean = out[..., 1:3] / PRIORITIES[:2] + np.asarray(weights["centre"])[:2]
    deviation = np.exp(np.clip(out[..., 3:5], *_SPREAD)) / PRIORITIES[:2]
    return share, mean, deviation, 1.0 / (1.0 + np.exp(-out[..., 5]))


_SPREAD = (-2.0, 4.0)
"""Bounds of the logarithm of a component's spread: narrower than 0.1 there is nothing but noise."""


def likeliest(weights: dict[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """The delivery of a mixture network's likeliest component, `(n, 3)`: vx, vy, spin +1 or -1."""
    share, mean, _, left = components(weights, inputs)
    rows, best = np.arange(len(inputs)), share.argmax(axis=1)
    return np.column_stack([mean[rows, best], np.where(left[rows, best] >= 0.5, 1.0, -1.0)])


def deliveries(weights: dict[str, np.ndarray], kind: str, inputs: np.ndarray) -> np.ndarray:
    """Shots of a network, `(n, 3)`."""
    if kind == "mixture":
        return likeliest(weights, inputs)
    found = forward(weights, inputs) / PRIORITIES + weights["centre"]
    found[:, 2] = np.where(found[:, 2] >= 0, 1.0, -1.0)
    return found


@cache
def load(path: str) -> dict[str, np.ndarray]:
    """A stored network.

    Raises:
        AsobibaError: if there is none.
    """
    if not Path(path).exists():
        raise AsobibaError(f"there is no trained network at {path}; make one with: asobiba train curling-dis")
    with np.load(path) as data:
        return dict(data)


class Imitation(CurlingPlayer):
    """Plays a stored network of either kind."""

    def __init__(self, kind: str, path: str = ""):
        self.name = "dis" if kind == "mean" else f"dis_{kind}"
        self.kind, self.weights = kind, load(path or str(path_of(kind)))

    def choose(self, view: np.void) -> tuple[float, float, float]:
        vx, vy, spin = deliveries(self.weights, self.kind, FEATURES[self.kind](view)[None])[0]
        return float(vx), float(vy), float(spin)


def prior_of(path: str = "", shots: int = 48) -> Callable[[Ruleset, np.void, np.random.Generator], np.ndarray]:
    """Deliveries drawn from the mixture network: a learned prior for kernel regression UCT."""
    weights = load(path or str(path_of("mixture")))

    def prior(ruleset: Ruleset, view: np.void, generator: np.random.Generator) -> np.ndarray:
        share, mean, deviation, left = (part[0] for part in components(weights, sorted_features(view)[None]))
        chosen = generator.choice(COMPONENTS, shots, p=share / share.sum())
        drawn = mean[chosen] + deviation[chosen] * generator.standard_normal((shots, 2))
        spin = np.where(generator.random(shots) < left[chosen], 1.0, -1.0)
        return np.column_stack([drawn, spin])

    return prior


_SAME = 0.1
"""m by which stones may differ in positions that count as the same."""


def with_one_spin(ruleset: Ruleset, views: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Targets `(n, 3)` in which the spin is counter-clockwise wherever that one, without noise, leads to the same position.

    Args:
        views: `(n,)` records. The other spin's delivery stops at the same place on a free sheet.
    """
    out = targets.copy()
    for k in np.flatnonzero(targets[:, 2] < 0):
        x, y = free_stop(ruleset, *targets[k])
        try:
            other = Shot.draw(ruleset, x, y, 1)
        except GameParameterError:  # a hard take-out, which would stop far off the sheet
            continue
        one, two = (
            simulate(ruleset, views[k], shot) for shot in (Shot(float(targets[k, 0]), float(targets[k, 1]), -1), other)
        )
        same = (one.in_play == two.in_play).all() and np.abs(one.stones - two.stones).max() < _SAME
        if same and not one.foul and not two.foul:
            out[k] = other.vx, other.vy, 1.0
    return out


def train(
    inputs: np.ndarray, targets: np.ndarray, kind: str, steps: int, seed: int, *, curve: list[dict] | None = None
) -> tuple[dict[str, Any], dict]:
    """Trains a network.

    Args:
        inputs, targets: `(n, size)` features of the kind and `(n, 3)` deliveries in the order thrown. The last 12 %, at
            most 1,920, judge; the published network learns from the first 14,080 at most, the mixture from all others.
        kind: mean or mixture. curve: receives the errors at twenty moments of the training.

    Returns:
        The weights as `load` gives them, and the errors on the judging shots: the mean squared error with priorities, mean
        absolute errors of the speeds, the share of wrong spins, and how far apart the stones would stop (median).
    """
    try:
        import torch
        from torch import nn
    except ImportError:
        raise MissingExtra("torch", "sb3") from None
    torch.manual_seed(seed)
    kept = min(JUDGING, round(len(inputs) * JUDGING / (TRAINING + JUDGING)))
    judged, wanted = inputs[-kept:], targets[-kept:]
    inputs, targets = inputs[:-kept], targets[:-kept]
    if kind == "mean":
        inputs, targets = inputs[:TRAINING], targets[:TRAINING]
    else:
        inputs, targets = np.concatenate([inputs, mirrored(inputs)]), np.concatenate([targets, targets * [-1, 1, -1]])
    centre = targets.mean(axis=0) * np.array([1.0, 1.0, 0.0])
    x = torch.tensor(inputs, dtype=torch.float32)
    y = torch.tensor((targets - centre) * PRIORITIES, dtype=torch.float32)
    outputs = 3 if kind == "mean" else COMPONENTS * PER_COMPONENT
    layers: list[nn.Module] = []
    for k in range(LAYERS):
        layers += [nn.Linear(x.shape[1] if k == 0 else HIDDEN, HIDDEN), nn.Tanh()]
    network = nn.Sequential(*layers, nn.Linear(HIDDEN, outputs))
    if kind == "mixture":
        # Components begin at shots that were thrown: from one place they would never part.
        last: Any = network[-1]
        with torch.no_grad():
            drawn = torch.randint(0, len(x), (COMPONENTS,))
            bias = last.bias.view(COMPONENTS, PER_COMPONENT)
            bias[:, 1:3], bias[:, 3:5] = y[drawn, :2], 1.0
    if kind == "mean":
        optimiser: Any = torch.optim.RMSprop(
            network.parameters(), lr=1e-4, alpha=0.95, eps=1e-4, momentum=0.9, centered=True
        )
    else:
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        falling = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, steps)

    for step in range(steps):
        batch = torch.randint(0, len(x), (BATCH,))
        optimiser.zero_grad()
        _loss(kind, network(x[batch]), y[batch]).backward()
        optimiser.step()
        if kind == "mixture":
            falling.step()
        if curve is not None and (step + 1) % max(steps // 20, 1) == 0:
            curve.append({"steps": step + 1} | _errors(_weights_of(network, centre), kind, judged, wanted))
    weights = _weights_of(network, centre)
    errors = {"learned shots": len(targets) // (1 if kind == "mean" else 2), "judged shots": kept}
    return weights, errors | _errors(weights, kind, judged, wanted)


def passes(number: int, shots: int) -> int:
    """Steps of so many passes over the shots that are learned from, out of `shots`."""
    learned = shots - min(JUDGING, round(shots * JUDGING / (TRAINING + JUDGING)))
    return number * max(round(min(learned, TRAINING) / BATCH), 1)


def _weights_of(network: Any, centre: np.ndarray) -> dict[str, Any]:
    weights: dict[str, Any] = {"centre": centre}
    for k, layer in enumerate(layer for layer in network if hasattr(layer, "weight")):
        weights[f"w{k}"] = layer.weight.detach().numpy().T.astype(np.float16)
        weights[f"b{k}"] = layer.bias.detach().numpy().copy()
    return weights


def _loss(kind: str, out: Any, wanted: Any) -> Any:
    """The loss of a batch: squared errors of the means, or the negative logarithm of the mixture's density."""
    import torch
    from torch import nn

    if kind == "mean":
        return ((out - wanted) ** 2).mean()
    parts = out.reshape(-1, COMPONENTS, PER_COMPONENT)
    spread = parts[..., 3:5].clamp(*_SPREAD)
    density = (-0.5 * ((wanted[:, None, :2] - parts[..., 1:3]) / spread.exp()) ** 2 - spread).sum(-1)
    density = density + nn.functional.logsigmoid(parts[..., 5] * wanted[:, 2:].sign())
    return -torch.logsumexp(density + torch.log_softmax(parts[..., 0], -1), -1).mean()


def _errors(weights: dict[str, Any], kind: str, judged: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    """Error of a network on the judging shots."""
    shots = deliveries(weights, kind, judged)
    apart = shots - wanted
    if kind == "mean":
        squared = (forward(weights, judged) / PRIORITIES + weights["centre"] - wanted) * PRIORITIES
    else:
        squared = apart * PRIORITIES
    return {
        "mean squared error": float((squared**2).mean()),
        "sideways, m/s": float(np.abs(apart[:, 0]).mean()),
        "forward, m/s": float(np.abs(apart[:, 1]).mean()),
        "wrong spins": float((apart[:, 2] != 0).mean()),
        "stops apart, m": float(np.median(np.hypot(*(_stops(shots) - _stops(wanted)).T))),
    }


def _stops(shots: np.ndarray) -> np.ndarray:
    # Where deliveries of cs2 would stop on a free sheet: two spins may mean the same shot.
    return np.array([free_stop_of(CS2, SIMULATORS["cs2"].release, *shot) for shot in shots])


def save(weights: dict[str, Any], path: Path, record: dict) -> None:
    """Writes a network and, beside it, a record of its training."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **weights)
    path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
