"""The agents of Bao: strategies of one move, alpha-beta with the endgame database, perfect play."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.baselines.bao import search_endgame, search_learned, search_learned_endgame
from asobiba.baselines.bao.boards import board_rank, play, tables
from asobiba.baselines.bao.endgame import EMPTY, Database, after, high_of, low_of, stored_database
from asobiba.baselines.bao.evaluation import HOLES
from asobiba.baselines.bao.proof import PROVEN, search
from asobiba.baselines.search.agent import SearchAgent
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.core import Agent, GameParameterError, KernelAgent, Ruleset, compiled, kernel, random_below
from asobiba.core.agents import Thinking
from asobiba.envs.bao.rules import DRAWS, ENDLESS_MOVE, ILLEGAL, board_words, seeds_in, sow_on

_DEEPEST, _PROOF_NODES = 120, 300_000


@kernel
def one_move_policy(view, p, legal, memory):
    """The legal move of the greatest value, ties at random.

    Value: `gain` per seed captured, `row` per seed then left in one's row, `theirs` per seed of the opponent's row, and
    `reply` per seed that his best reply captures.
    """
    ring = p.sow.shape[0]
    holes = ring // 2
    me = np.int64(view.to_move)
    b0, b1, b2, b3 = board_words(view)
    best, ties, choice = np.int64(-(1 << 40)), 0, -1
    for k in range(holes):
        if legal[k] == 0:
            continue
        a0, a1, a2, a3, last = sow_on(p, b0, b1, b2, b3, k + me * holes)
        if last < 0:
            value = np.int64(-(1 << 20))
        else:
            opposite = ring - 1 - last
            captured = seeds_in(p, a0, a1, a2, a3, opposite)
            mine, theirs = np.int64(0), np.int64(0)
            for i in range(ring):
                here = np.int64(0) if i == opposite else seeds_in(p, a0, a1, a2, a3, i)
                if (i < holes) == (me == 0):
                    mine += here
                else:
                    theirs += here
            value = memory.gain * captured + memory.row * mine + memory.theirs * theirs
            if memory.reply != 0 and theirs > 0 and mine > 0:
                c0, c1, c2, c3 = a0, a1, a2, a3
                row_bytes = 4 * p.sow.shape[2]
                slot = opposite if opposite < holes else opposite + (row_bytes - holes)
                clear = ~(np.uint64(0xFF) << np.uint64((slot & 7) << 3))
                if slot < 8:
                    c0 &= clear
                elif slot < 16:
                    c1 &= clear
                elif slot < 24:
                    c2 &= clear
                else:
                    c3 &= clear
                most = np.int64(0)
                for j in range((1 - me) * holes, (2 - me) * holes):
                    if seeds_in(p, c0, c1, c2, c3, j) != 0:
                        d0, d1, d2, d3, end = sow_on(p, c0, c1, c2, c3, j)
                        if end >= 0:
                            most = max(most, seeds_in(p, d0, d1, d2, d3, ring - 1 - end))
                value += memory.reply * most
        if value > best:
            best, ties, choice = value, 1, k
        elif value == best:
            ties += 1
            if random_below(memory, ties) == 0:
                choice = k
    return choice


def one_move_agent(name: str, gain: int = 0, row: int = 0, theirs: int = 0, reply: int = 0) -> KernelAgent:
    """An agent that looks one move ahead, or two with `reply`."""
    weights = {"gain": gain, "row": row, "theirs": theirs, "reply": reply}
    return KernelAgent(one_move_policy, [(key, np.int64) for key in weights], weights, name)


@kernel
def leftmost_policy(view, p, legal, memory):
    """The first legal hole from the left, or from the right if `memory.from_right` is set."""
    for k in range(legal.shape[0]):
        hole = legal.shape[0] - 1 - k if memory.from_right != 0 else k
        if legal[hole] != 0:
            return hole
    return -1


@compiled()
def _move_values(params, database, own, other, boards, low, high, captures):
    """For every hole of the mover: the next board, what the move captures (or its mark), and the mover's two margins."""
    for hole in range(captures.shape[0]):
        next_own, next_other, captured = play(params[0], own, other, hole)
        captures[hole] = captured
        boards[hole, 0], boards[hole, 1] = next_own, next_other
        if captured >= 0:
            at = board_rank(params[0], next_own, next_other)
            low[hole] = after(captured, high_of(database, at))
            high[hole] = after(captured, low_of(database, at))


class EndgamePlay:
    """Perfect play on boards that a database holds.

    It keeps the result (win, draw, loss) and, where both values meet, the margin. The database knows no distances, so
    that a move of the right value might lead round in a circle; the move is therefore taken from a proof that
    the margin can be claimed within the least number of plies, which shrinks with every move.
    """

    def __init__(self, ruleset: Ruleset, database: Database, seeds: int):
        self.holes, self.seeds, self.database = ruleset.num_actions, seeds, database
        self.params = tables(self.holes, ruleset.parameters["endless"])
        self._keys = np.zeros((1 << 16, 3), np.uint64)
        self._counters = np.zeros(1, np.int64)

    def holds(self, state: np.void) -> bool:
        """Whether the database holds the board of this state."""
        return int(np.ascontiguousarray(state["board"]).view(np.uint8).sum()) <= self.seeds

    def move(self, state: np.void, legal: np.ndarray) -> int:
        """The best action."""
        side = int(state["to_move"])
        own, other = state["board"][side], state["board"][1 - side]
        lead = int(state["stores"][side]) - int(state["stores"][1 - side])
        low, high = np.full((2, self.holes), -129, np.int64)
        captures = np.zeros(self.holes, np.int64)
        boards = np.zeros((self.holes, 2), np.uint64)
        _move_values(self.params, self.database, own, other, boards, low, high, captures)
        endless = int(self.params["endless"][0])
        if endless != ILLEGAL:
            high[captures == ENDLESS_MOVE] = 127 if endless == DRAWS else -128
            low[captures == ENDLESS_MOVE] = -128
        target = int(low[legal != 0].max())
        if target <= -128 or (lead + target < 0 and lead + int(high[legal != 0].max()) >= 0):
            # Nothing, or only a loss, can be claimed: hold the draw, or whatever costs least.
            return int(np.argmax(np.where(legal != 0, high * 1000 + low, -(1 << 40))))
        self._keys[:] = 0
        for depth in range(1, _DEEPEST):
            self._counters[0] = 0
            found = search(
                params=self.params,
                database=EMPTY,
                seeds=0,
                keys=self._keys,
                own=own,
                other=other,
                claims=1,
                target=min(target, 64),
                depth=depth,
                limit=_PROOF_NODES,
                counters=self._counters,
            )
            if found == PROVEN:
                hole = self._proof_move(boards, target, depth, captures, legal)
                if hole >= 0:
                    return hole
            if found != PROVEN and self._counters[0] >= _PROOF_NODES:
                break
        # The proof is too long: of the moves that keep the margin, the one that captures most.
        return int(np.argmax(np.where((legal != 0) & (low == target), captures, -(1 << 40))))

    def _proof_move(self, boards: np.ndarray, target: int, depth: int, captures: np.ndarray, legal: np.ndarray) -> int:
        """A move after which the claim is proven to one ply less."""
        for hole in np.flatnonzero(legal):
            if captures[hole] < 0:
                continue
            found = search(
                params=self.params,
                database=EMPTY,
                seeds=0,
                keys=self._keys,
                own=boards[hole, 0],
                other=boards[hole, 1],
                claims=2,
                target=min(target, 64) - int(captures[hole]),
                depth=depth - 1,
                limit=_PROOF_NODES,
                counters=self._counters,
            )
            if found == PROVEN:
                return int(hole)
        return -1


class PerfectAgent(Agent):
    """Perfect play by the database of all boards of the game: 4x2 and smaller."""

    def __init__(self) -> None:
        self.name = "perfect"
        self._play: EndgamePlay | None = None
        self._ruleset: Ruleset | None = None

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if self._ruleset == ruleset:
            return
        total = int(ruleset.params["total"][0])
        if ruleset.num_actions > 4 or total > 32:
            raise GameParameterError(
                f"perfect plays boards of up to 4 holes in a row and 32 seeds; this one has {ruleset.num_actions} and {total}"
            )
        database = stored_database(ruleset.num_actions, total, ruleset.parameters["endless"])
        self._ruleset, self._play = ruleset, EndgamePlay(ruleset, database, total)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        assert self._play is not None
        return self._play.move(view, legal)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_play": None, "_ruleset": None}


def require_endgame(endgame: object) -> None:
    """Raises `GameParameterError` for what is no number of seeds of a database."""
    if not isinstance(endgame, int) or not 0 <= endgame <= 20:
        raise GameParameterError(f"endgame is the number of seeds of the database, from 0 to 20; got {endgame!r}")


class AlphaBetaAgent(SearchAgent):
    """The shared alpha-beta search with the endgame database of all boards of at most `endgame` seeds (0: without).

    Args:
        learned: whether the network of `evaluation.py` judges positions, which knows the board of 8x2 alone.
    """

    settings: dict[str, Any]

    def __init__(self, endgame: int = 10, learned: bool = False, **settings: Any):
        require_endgame(endgame)
        super().__init__("alpha_beta_learned" if learned else "alpha_beta", **settings)
        self.endgame, self.learned = endgame, learned
        self._plain = dict(self.settings)
        self._endgame_play: EndgamePlay | None = None

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if self._searcher is None or self._searcher.ruleset != ruleset:
            self._endgame_play, self.settings = None, dict(self._plain)
            self._require_board(ruleset)
            if self.learned:
                self.settings["search_module"] = search_learned
            if self.endgame and search_endgame.takes_database(ruleset):
                self.settings["search_module"] = search_learned_endgame if self.learned else search_endgame
                database = stored_database(ruleset.num_actions, self.endgame, ruleset.parameters["endless"])
                self._endgame_play = EndgamePlay(ruleset, database, self.endgame)
                ruleset = search_endgame.with_database(ruleset, self.endgame)
        super().reset(ruleset, seat, seed)

    def _require_board(self, ruleset: Ruleset) -> None:
        if self.learned and (ruleset.num_actions != HOLES or not search_endgame.takes_database(ruleset)):
            raise GameParameterError(f"{self.name} plays on the board of 8x2, not {ruleset}; alpha_beta plays on all")

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled function, without the database (`endgame=0`)."""
        self._require_board(ruleset)
        if self.endgame or self._plain.get("seconds") is not None:
            return None
        return Searcher(ruleset, **self._plain, search_module=search_learned if self.learned else None).thinking()

    def act(self, view: np.void, legal: np.ndarray) -> int:
        if self._endgame_play is not None and self._endgame_play.holds(view):
            return self._endgame_play.move(view, legal)
        return super().act(view, legal)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "settings": dict(self._plain), "_endgame_play": None}
