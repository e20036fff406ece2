"""Proof search over every reply, and the collection of positions with forced wins.

The engine's threat search looks at the answers that meet a threat at once. Here each of its wins is proved: the attacker
plays the move it names, the defender every legal move, and every line must end in the attacker's win by the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asobiba.arena.lockstep import play_lockstep
from asobiba.arena.match import Match
from asobiba.arena.replay import replay
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.core import KernelAgent, NotationError, Ruleset, make_agent
from asobiba.core.states import is_over, legal_actions, step
from asobiba.envs.gogo import notation

WINS = Path(__file__).parent / "wins.txt"
_SHORTEST = 5


@dataclass(frozen=True)
class Win:
    """A position in one line, the winning move, and the plies of the longest line."""

    position: str
    move: str
    plies: int


def after_all(ruleset: Ruleset, state: np.void, actions: np.ndarray) -> np.ndarray:
    """The states after each of these actions, `(k,)` records."""
    states = np.repeat(np.array([state], ruleset.dtype), len(actions))
    masks = np.zeros((len(actions), *ruleset.mask_shape), np.int8)
    ruleset.engine.write_masks(states, ruleset.params, masks)
    ruleset.engine.advance_all(states, ruleset.params, np.asarray(actions, np.int64), masks)
    return states


def prove(searcher: Searcher, state: np.void, most: int = 20_000) -> tuple[int, int]:
    """Plies of the longest line of a win that every reply has been tried against, and its first move; or (0, -1).

    Args:
        searcher: names the attacker's moves.
        most: positions of the attacker that may be looked at.
    """
    left = [most]

    def attack(state: np.void) -> tuple[int, int]:
        left[0] -= 1
        if left[0] < 0:
            return 0, -1
        mover = int(state["to_move"])
        found = searcher.search(state, depth=1)
        if found.proven <= 0:
            return 0, -1
        after = step(searcher.ruleset, state, found.action)
        if is_over(after):
            return int(after["rewards"][mover] > 0), found.action
        longest = 0
        children = after_all(searcher.ruleset, after, legal_actions(searcher.ruleset, after))
        over = (children["terminated"] != 0) | (children["truncated"] != 0)
        if (children["rewards"][over, mover] <= 0).any():
            return 0, -1
        longest = 2 if over.any() else 0
        for child in children[~over]:
            plies, _ = attack(child)
            if not plies:
                return 0, -1
            longest = max(longest, 2 + plies)
        return longest, found.action

    return attack(state)


def collect(ruleset: Ruleset, games: int, most: int, seed: int = 0) -> list[Win]:
    """Distinct positions from games between the references, at most one a game, whose win of five plies or more is proved."""
    searcher = Searcher(ruleset, depth=1, solve_root=4000)
    wins: list[Win] = []
    seen: set[str] = set()
    for first, second in (("champion", "strong"), ("strong", "champion"), ("middle", "strong"), ("champion", "middle")):
        agents = [make_agent(ruleset.game, name) for name in (first, second)]
        assert all(isinstance(agent, KernelAgent) for agent in agents)
        matches = [Match.of(ruleset, (first, second), seed + k) for k in range(games)]
        for records in play_lockstep(matches, agents):  # type: ignore[arg-type]
            for record in records:
                if len(wins) == most:
                    return wins
                for state, _ in replay(record):
                    if is_over(state) or int(state["steps"]) < 8:
                        continue
                    line = notation.state_to_text(ruleset, state)
                    if line in seen:
                        continue
                    seen.add(line)
                    found = searcher.search(state, depth=1)
                    if found.proven > 0 and (found.plies_to_end or 0) >= _SHORTEST:
                        plies, move = prove(searcher, state)
                        if plies >= _SHORTEST:
                            wins.append(Win(line, notation.point_name(ruleset, move), plies))
                            break
    return wins


def write_wins(wins: list[Win]) -> str:
    """Wins as text, one a line."""
    head = "# Positions with a forced win: position | winning move | plies of the longest line. Proved against every reply.\n"
    return head + "".join(f"{win.position} | {win.move} | {win.plies}\n" for win in wins)


def read_wins(path: Path = WINS) -> list[Win]:
    """The wins of a file.

    Raises:
        NotationError: naming the line that is none.
    """
    wins = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not parts[2].isdigit():
            raise NotationError(f"{path}, line {number}: expected position | move | plies, not {line!r}")
        wins.append(Win(parts[0], parts[1], int(parts[2])))
    return wins
