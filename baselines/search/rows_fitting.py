"""Fits the weights of `rows` by logistic regression with PyTorch, and rounds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

TESTED = 10
"""Every so many games one is kept for testing."""
_BATCH = 1024


def told(scores: np.ndarray, results: np.ndarray) -> np.ndarray:
    """The chance of winning that each score tells: the logistic function that fits the results best.

    Args:
        scores: of about 1 where a win is likely.
        results: 1 for a win, 0.5, 0.
    """
    slope, scaled = 0.0, scores.astype(np.float64)
    for _ in range(50):  # Newton's method
        chance = 1 / (1 + np.exp(-np.clip(slope * scaled, -30, 30)))
        slope += float((scaled * (results - chance)).sum() / ((scaled**2 * chance * (1 - chance)).sum() + 1e-9))
    return (1 / (1 + np.exp(-np.clip(slope * scaled, -30, 30)))).astype(np.float32)


def fit(
    inputs: np.ndarray,
    wanted: np.ndarray,
    results: np.ndarray,
    games: np.ndarray,
    *,
    epochs: int = 20,
    seed: int = 0,
    rate: float = 2e-3,
) -> tuple[dict[str, np.ndarray], list[dict[str, float]]]:
    """Weights as whole numbers, and a line for each epoch: losses (cross entropy) in learning, of what is wanted, and in
    testing, of results alone.

    Args:
        inputs: the step of each input, `(n, inputs)` uint8.
        wanted, results: what is learned and how the game ended, `(n,)` float32 from 0 to 1 (a win).
        games: the number of the game of each, `(n,)`.
    """
    import torch

    from asobiba.baselines.search.rows_network import RowsNetwork

    torch.manual_seed(seed)
    network = RowsNetwork(inputs.shape[1])
    tested = torch.from_numpy(games % TESTED == 0)
    given, ended = torch.from_numpy(inputs), torch.from_numpy(results)
    learned, target = given[~tested], torch.from_numpy(wanted)[~tested]
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=epochs * -(-len(learned) // _BATCH))
    lines = []
    for epoch in range(epochs):
        order, total = torch.randperm(len(learned)), 0.0
        for batch in order.split(_BATCH):
            found = loss(network(learned[batch]), target[batch])
            optimizer.zero_grad()
            found.backward()
            optimizer.step()
            schedule.step()
            total += float(found.detach()) * len(batch)
        with torch.no_grad():
            test = float(loss(network(given[tested]), ended[tested]))
        lines.append({"epoch": epoch + 1, "learned": total / len(learned), "tested": test})
    return network.whole(), lines


def save(folder: Path, weights: dict[str, np.ndarray], lines: list[dict[str, float]], record: dict[str, Any]) -> None:
    """Writes `evaluation.npz`, `learning.csv` and `run.json` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "evaluation.npz", **weights)  # type: ignore[arg-type]
    text = ["epoch,learned,tested", *(f"{x['epoch']},{x['learned']:.4f},{x['tested']:.4f}" for x in lines)]
    (folder / "learning.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
