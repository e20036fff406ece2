"""A network that reasons over ship placements: the policy of `asobiba train battleship`.

Fixed functions of the observation are: which placements of each ship the answers allow, how many hits each covers,
and the sums that lead from cells to placements and back. For every ship the network holds a distribution over its
placements, a softmax over learned energies. It is refined in a few rounds: a placement's energy depends on the hits
that it covers and no other ship explains, and on how much it clashes with where the other ships are believed to be (an
unrolled mean-field inference). The logit of a cell grows with the expected number of ships afloat on it; a small
convolution adds what the placements cannot express.

Learned are all energies, the weight of each kind of ship, the steepness of the logits, the convolution and the critic.
At first all energies are zero, so that every fitting placement of a ship is as likely as any other and nothing is known
about what hits mean; kinds of ships weigh the same, the steepness is one, and the convolution adds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from asobiba.learn.networks import BoardPolicy, board_shape

_HITS = 3  # an energy for the first hit that a placement covers, one for the second, one for each after that
_HIGHEST = 8  # so many cells, the likeliest, tell the critic how likely they are
_BARRED = -1e4  # energy of a placement that does not fit
_FASTER = 10.0  # energies are this many times their parameters, which lets them learn faster than the convolution
_LEAST = 1e-3  # expected ships on a cell where none fits


def placements(size: int, height: int, width: int) -> torch.Tensor:
    """All placements of a ship, `(placements, cells)`: 1 where it lies."""
    rows = []
    for down in (False, True) if size > 1 else (False,):
        for y in range(height - (size - 1) * down):
            for x in range(width - (size - 1) * (not down)):
                row = torch.zeros(height, width)
                row[y : y + (size if down else 1), x : x + (1 if down else size)] = 1
                rows.append(row.flatten())
    return torch.stack(rows)


class Belief(NamedTuple):
    """Output of the network for observations.

    `misses`, `hits` `(n, cells)`; `afloat` `(ships, n, 1)`; `fitting` `(ships, n)`: placements that fit; `chance`
    `(ships, n, placements)`: how likely each is; `on` `(ships, n, cells)`: how likely each ship afloat is on a cell.
    """

    misses: torch.Tensor
    hits: torch.Tensor
    afloat: torch.Tensor
    fitting: torch.Tensor
    chance: torch.Tensor
    on: torch.Tensor


class PlacementNetwork(nn.Module):
    """Takes observations `(n, size)`, gives logits `(n, actions)` and value features `(n, width)`.

    It is meant for the rule that a sinking is told with the kind of ship, and not its place. Actions beyond the shots
    have equal logits.

    Args:
        channels: name -> shape of the observation's channels; the first four are those of battleship.
        actions: number of actions; shots are the first of them.
        width: features of the critic.
        rounds: how often the distributions over placements are refined.
        features: features per cell of the convolution.
        fleet: sizes of the ships, in the order of the game's `fleet`.
    """

    places: torch.Tensor
    cells_of: torch.Tensor
    exists: torch.Tensor
    sizes: torch.Tensor
    kinds: torch.Tensor
    numbers: torch.Tensor

    def __init__(
        self,
        channels: Mapping[str, tuple[int, ...]],
        actions: int,
        width: int = 64,
        rounds: int = 3,
        features: int = 16,
        fleet: Sequence[int] = (5, 4, 3, 3, 2),
    ):
        super().__init__()
        self.fleet, self.board = tuple(fleet), board_shape(channels)
        ships, kinds = len(self.fleet), sorted(set(self.fleet))
        options = [placements(size, *self.board) for size in self.fleet]
        places = nn.utils.rnn.pad_sequence(options, batch_first=True)
        for name, value in {
            "places": places,  # (ships, placements, cells)
            "cells_of": places.transpose(1, 2).contiguous(),
            "exists": places.any(2)[:, None],
            "sizes": torch.tensor(self.fleet).float()[:, None, None],
            "kinds": torch.tensor([kinds.index(size) for size in self.fleet]),
            "numbers": torch.arange(1, ships + 1)[:, None, None],
        }.items():
            self.register_buffer(name, value, persistent=False)
        self.energies = nn.Parameter(torch.zeros(rounds, len(kinds), _HITS))
        self.clashes = nn.Parameter(torch.zeros(rounds, len(kinds)))
        self.shares = nn.Parameter(torch.zeros(len(kinds)))
        self.steepness = nn.Parameter(torch.tensor(1 / _FASTER))
        self.torso = nn.Sequential(nn.Conv2d(ships + 3, features, 3, padding=1), nn.ReLU())
        self.logits = nn.Conv2d(features, 1, 3, padding=1)
        nn.init.zeros_(self.logits.weight)
        nn.init.zeros_(self.logits.bias)  # type: ignore[arg-type]
        self.value = nn.Sequential(
            nn.Linear(4 * ships + 2 + _HIGHEST, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.latent_dim_pi, self.latent_dim_vf = actions, width

    def believe(self, observation: torch.Tensor) -> Belief:
        """Probability of each placement of each ship."""
        cells, ships = self.board[0] * self.board[1], len(self.fleet)
        with torch.no_grad():
            misses, hits, sinkings = observation[:, : 3 * cells].reshape(-1, 3, cells).unbind(1)
            afloat = observation[:, 3 * cells : 3 * cells + ships].T[:, :, None]
            covered = hits @ self.cells_of
            whole = covered > self.sizes - 0.5
            open_to = (misses + (sinkings > 0).float()) @ self.cells_of < 0.5
            sunk_there = (sinkings == self.numbers).float() @ self.cells_of > 0.5
            fits = torch.where(afloat > 0.5, open_to & ~whole, sunk_there & whole) & self.exists
            barred = torch.where(fits, 0.0, _BARRED)
            fitting = fits.float().sum(2)
            # The ships afloat begin nowhere, the sunk ones evenly over where they may lie.
            chance = fits.float() * (1 - afloat) / fitting.clamp(min=1)[:, :, None]
            on = torch.bmm(chance, self.places)
        for energies, clashes in zip(self.energies * _FASTER, self.clashes * _FASTER, strict=True):
            others = (on.sum(0) - on).clamp(0, 1)
            unexplained = torch.bmm(hits * (1 - others), self.cells_of)
            clash = torch.bmm(others, self.cells_of)
            energy = torch.addcmul(barred, clashes[self.kinds, None, None], clash, value=-1)
            for number in range(1, _HITS + 1):
                gain = unexplained.clamp(max=number) if number < _HITS else unexplained
                energy = torch.addcmul(energy, energies[self.kinds, number - 1, None, None], gain)
            chance = energy.softmax(2)
            on = torch.bmm(chance, self.places)
        return Belief(misses, hits, afloat, fitting, chance, on * afloat)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        belief = self.believe(observation)
        return self._actor(belief), self._critic(belief)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        return self._actor(self.believe(observation))

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, width)`."""
        return self._critic(self.believe(observation))

    def _actor(self, belief: Belief) -> torch.Tensor:
        expected = (self.shares[self.kinds].exp()[:, None, None] * belief.on).sum(0)
        planes = torch.cat([belief.on, belief.misses[None], belief.hits[None], expected[None]]).transpose(0, 1)
        rest = self.logits(self.torso(planes.reshape(len(planes), -1, *self.board))).flatten(1)
        logits = _FASTER * self.steepness * (expected + _LEAST).log() + rest
        return functional.pad(logits, (0, self.latent_dim_pi - logits.shape[1]))

    def _critic(self, belief: Belief) -> torch.Tensor:
        with torch.no_grad():  # what the critic learns does not change the belief
            closed = belief.misses + belief.hits
            afloat = belief.afloat[:, :, 0]
            highest = (belief.on.sum(0) * (1 - closed)).topk(_HIGHEST, dim=1).values
            spread = -(belief.chance**2).sum(2).log() * afloat
            fitting = torch.log1p(belief.fitting) * afloat
            found = (belief.hits * belief.on).sum(2)
            known = torch.stack([closed.mean(1), belief.hits.sum(1) / sum(self.fleet)], 1)
            features = torch.cat([known, highest, afloat.T, spread.T / 5, fitting.T / 5, found.T], 1)
        return self.value(features)


class PlacementPolicy(BoardPolicy):
    """MaskablePPO's policy with a `PlacementNetwork`."""

    network_class = PlacementNetwork
