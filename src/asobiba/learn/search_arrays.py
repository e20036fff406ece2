"""Arrays of a search guided by a network; see `asobiba.learn.search`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


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
