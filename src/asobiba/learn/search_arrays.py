"""Arrays of a search guided by a network; see `asobiba.learn.search`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asobiba.core.game import Ruleset


class Trees(NamedTuple):
    """Room for trees: in each array a tree has one row.

    Attributes:
        nodes, edges: the tree; the edges of a node stand side by side.
        rows: scratch values for the edges of one node.
        path, taken: nodes and edges of a simulation.
        node_count, used: numbers of nodes and edges in the tree.
        observation, mask: of one position.
        scratch, active: room for the network, one row.
    """

    nodes: np.ndarray
    edges: np.ndarray
    rows: np.ndarray
    path: np.ndarray
    taken: np.ndarray
    node_count: np.ndarray
    used: np.ndarray
    observation: np.ndarray
    mask: np.ndarray
    scratch: np.ndarray
    active: np.ndarray


class Net(NamedTuple):
    """A `Network` as compiled code takes it."""

    layers: np.ndarray
    weights: np.ndarray
    policy: int
    value: int


class Memo(NamedTuple):
    """The network's answers to positions that were met before: most come again, in the search of the next move or in other
    games. A place holds the latest position that belongs there.

    Attributes:
        seen: `(places, size)`, the observation at each place.
        logits, values: `(places, actions)` and `(places,)` float32.
        networks: `(places,)` int64, the number of the network that has answered; 0: none.
        counts: `(3,)` int64: the number of the present network; how many positions were asked for; how many were computed.
    """

    seen: np.ndarray
    logits: np.ndarray
    values: np.ndarray
    networks: np.ndarray
    counts: np.ndarray

    @classmethod
    def empty(cls, ruleset: Ruleset) -> Memo:
        """Room in 16 MiB; the number of places is a power of 2."""
        kind = ruleset.observation_space.dtype
        assert kind is not None
        one = ruleset.observation_size * kind.itemsize + 4 * ruleset.num_actions + 12
        places = 1 << max(0, ((16 << 20) // one).bit_length() - 1)
        return cls(
            seen=np.zeros((places, ruleset.observation_size), kind),
            logits=np.zeros((places, ruleset.num_actions), np.float32),
            values=np.zeros(places, np.float32),
            networks=np.zeros(places, np.int64),
            counts=np.array([1, 0, 0], np.int64),
        )
