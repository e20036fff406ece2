"""Forced wins with their proof: a certificate that `examples/check_gogo_win.py` checks without this package.

The proof-number search finds the attacker's moves; here the whole tree is written down, every legal reply included. Parts
that are alike are written once, and the commonest answer of a position stands for all replies that it meets.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from asobiba.baselines.gogo.proof import after_all
from asobiba.baselines.gogo.proof_number import CHILDREN, ENTRY, INFINITE, PLIES, SETTINGS, frames_of, load_root, search
from asobiba.core import AsobibaError, Ruleset
from asobiba.core.states import is_over, legal_actions, step
from asobiba.envs.gogo import notation
from asobiba.envs.gogo.layout import PRESETS, chosen

Node = tuple[str, int, tuple[tuple[str, int], ...]]
"""The attacker's move, the node after replies that are not named (or -1), and the others."""


class Unproved(AsobibaError):
    """No forced win was found."""


class Prover:
    """Searches positions of one ruleset for wins in which every move after the first `quiet` ones threatens to win.

    Args:
        ruleset: the game.
        width: the attacker's moves that are looked at in a position, the most promising; from the number of points on, all.
        threats: positions that the search of fours may visit at each position.
        quiet: moves of the attacker, the first ones, that need not threaten anything.
        most: positions that may be expanded in one search.
        table_size: positions that are remembered, a power of two.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        width: int = 12,
        threats: int = 100,
        quiet: int = 0,
        most: int = 100_000,
        table_size: int = 1 << 20,
    ):
        self.ruleset, self.quiet, self.most = ruleset, quiet, most
        self.params = ruleset.params.copy()
        self.frames = frames_of(ruleset)
        self.children = np.zeros(PLIES, CHILDREN)
        self.table = np.zeros(table_size, ENTRY)
        self.settings = np.zeros(1, SETTINGS)
        self.settings["width"], self.settings["threats"] = width, threats
        self.states = ruleset.zeros()
        self.expanded = 0

    def search(self, state: np.void) -> tuple[int, int, int]:
        """Proof number, disproof number (0 for what is decided) and the move of the player to move."""
        self.states[0] = state
        load_root(self.states, self.params, self.frames)
        self.settings["attacker"], self.settings["most"] = state["to_move"], self.most
        self.settings["quiet_steps"] = int(state["steps"]) + 2 * self.quiet
        proof, disproof, move, expanded = search(self.frames, self.children, self.params, self.table, self.settings)
        self.expanded += expanded
        return int(proof), int(disproof), int(move)

    def prove(self, state: np.void) -> dict[str, Any]:
        """The certificate of a forced win of the player to move.

        Raises:
            Unproved: where none is found.
        """
        self.table[:] = 0
        nodes: dict[Node, int] = {}
        self._attack(state, nodes, {})
        return {
            "rule": rule_of(self.ruleset),
            "position": notation.state_to_text(self.ruleset, state),
            "nodes": [[move, others, dict(named)] for move, others, named in nodes],
        }

    def _attack(self, state: np.void, nodes: dict[Node, int], known: dict[bytes, int]) -> int:
        """The number of the node of a position."""
        area = self.ruleset.num_actions
        key = state["planes"][: 2 * area].tobytes() + state["captured"].tobytes()
        if key in known:
            return known[key]
        proof, disproof, move = self.search(state)
        if proof != 0:
            text = notation.state_to_text(self.ruleset, state)
            raise Unproved(
                f"no win by threats in {text}"
                if disproof == 0
                else f"{text} is not decided; raise --most ({self.most:,})"
            )
        mover, after = int(state["to_move"]), step(self.ruleset, state, move)
        found: dict[str, int] = {}
        if not is_over(after):
            replies = legal_actions(self.ruleset, after)
            for reply, child in zip(replies, after_all(self.ruleset, after, replies), strict=True):
                if not is_over(child):
                    found[notation.point_name(self.ruleset, int(reply))] = self._attack(child, nodes, known)
                elif child["rewards"][mover] <= 0:
                    raise AssertionError("the search called a position won that is not")
        others = Counter(found.values()).most_common(1)[0][0] if found else -1
        named = tuple((name, number) for name, number in found.items() if number != others)
        node = (notation.point_name(self.ruleset, move), others, named)
        # The node of the first position comes last: nodes are numbered when all below them are.
        known[key] = nodes.setdefault(node, len(nodes))
        return known[key]


def rule_of(ruleset: Ruleset) -> dict[str, Any]:
    """The parameters of the rules by name, with the preset's values."""
    told = ruleset.parameters
    return chosen(told.get("preset", "gogo"), **{name: told.get(name) for name in PRESETS["gogo"]})


def is_decided(proof: int, disproof: int) -> str:
    """The verdict that the numbers of a position give: `won`, `none` or `open`."""
    return "won" if proof == 0 else "none" if disproof == 0 or proof >= INFINITE else "open"
