"""Agents that play the moves of `alpha_beta.Searcher`."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from asobiba.baselines.search.alpha_beta import Searcher, SearchResult
from asobiba.core import Agent, GameParameterError, Ruleset
from asobiba.core.agents import Thinking
from asobiba.core.states import is_over, legal_actions, step

LOSING = ("longest", "confusing", "any")
PONDER_SECONDS = 60.0
"""How long an agent that ponders by itself thinks about the opponent's move, at most."""


class SearchAgent(Agent):
    """Plays the best move of an alpha-beta search.

    Args:
        losing: the choice when every move loses: the `"longest"` line; the most `"confusing"` move, the one after which
            the smallest share of the opponent's replies still wins; or `"any"` move.
        ponder: whether it thinks on after each move of its own, for at most `PONDER_SECONDS`, about the reply that it expects,
            whoever runs the game. Only with `seconds`: what is pondered depends on the opponent's time.
        settings: arguments of `Searcher`; a budget (`depth`, `nodes` or `seconds`) is needed.

    `last` is the `SearchResult` of the last move.
    """

    def __init__(self, name: str = "alpha_beta", losing: str = "longest", ponder: bool = False, **settings: Any):
        if losing not in LOSING:
            raise GameParameterError(f"losing is one of {', '.join(LOSING)}, not {losing!r}")
        budget = {key: settings.get(key) for key in ("depth", "nodes", "seconds")}
        Searcher.require_budget(**budget)
        Searcher.require_threads(settings.get("threads", 1), budget["depth"], budget["nodes"])
        if ponder and (budget["depth"] is not None or budget["nodes"] is not None):
            raise GameParameterError(
                "ponder=True goes with seconds=TIME alone: what is pondered depends on the opponent's time, so the answers of "
                "a search limited by depth or nodes could not be repeated"
            )
        self.name = name
        self.losing = losing
        self.ponders = ponder
        self.settings: dict[str, Any] = {**settings, "distance": losing != "any"}
        self.last: SearchResult | None = None
        self._budget: dict[str, Any] = {}
        self._searcher: Searcher | None = None
        self._thread: threading.Thread | None = None

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.stop_pondering()
        if self._searcher is None or self._searcher.ruleset != ruleset:
            self._searcher = Searcher(ruleset, **self.settings)
        self._searcher.clear()
        self.last = None

    @property
    def searcher(self) -> Searcher:
        """The searcher of the present game."""
        if self._searcher is None:
            raise RuntimeError("reset(ruleset, seat, seed) comes before act")
        return self._searcher

    def set_budget(self, seconds: float | None = None, nodes: int | None = None, depth: int | None = None) -> None:
        """Limits of the next moves, in place of the agent's own; without any its own hold again."""
        self._budget = {"seconds": seconds, "nodes": nodes, "depth": depth}

    def stop(self) -> None:
        """Ends a search that runs in another thread; it answers with the best move so far."""
        self.searcher.stop()

    @property
    def expected_reply(self) -> int | None:
        """The opponent's reply that the last search expects."""
        return int(self.last.pv[1]) if self.last is not None and len(self.last.pv) > 1 else None

    def act(self, view: np.void, legal: np.ndarray) -> int:
        self.stop_pondering()
        self.last = self.searcher.search(view, **self._budget)
        if self.losing == "confusing" and self.last.proven < 0:
            return self.most_confusing(view)
        if self.ponders:
            self._think_about(step(self.searcher.ruleset, view, self.last.action), PONDER_SECONDS)
        return self.last.action

    def most_confusing(self, state: np.void, depth: int = 4, nodes: int = 4000) -> int:
        """The move after which the smallest share of replies wins for the opponent; of equal ones the longest line.

        Args:
            state: a position that is lost.
            depth, nodes: how far each reply is followed to see whether it still wins.
        """
        ruleset, searcher = self.searcher.ruleset, self.searcher
        ranked = []
        for action in legal_actions(ruleset, state):
            after = step(ruleset, state, int(action))
            if is_over(after):
                ranked.append((1.0, 0, int(action)))
                continue
            replies = legal_actions(ruleset, after)
            winning, longest = 0, 0
            for reply in replies:
                then = step(ruleset, after, int(reply))
                if is_over(then):
                    winning += bool(then["rewards"][int(after["to_move"])] > 0)
                    continue
                found = searcher.search(then, depth=depth, nodes=nodes)
                if found.proven < 0:
                    winning += 1
                    longest = max(longest, found.plies_to_end or 0)
            ranked.append((winning / len(replies), -longest, int(action)))
        return min(ranked)[2]

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled function, if the budget is not a time and the answer is the search's own."""
        if (
            type(self).act is not SearchAgent.act
            or self.losing == "confusing"
            or self.settings.get("seconds") is not None
        ):
            return None
        return Searcher(ruleset, **self.settings).thinking()

    def ponder(self, view: np.void) -> None:
        """Searches the position after the reply that the last search expects (or `view` itself) until stopped.

        Its results stay in the transposition table, so that the next move begins where it left off.
        """
        self._think_about(view)

    def _think_about(self, view: np.void, seconds: float | None = None) -> None:
        self.stop_pondering()
        if is_over(view):
            return
        state, searcher = view, self.searcher
        expected = self.last.pv[1:2] if self.last else []
        if expected and expected[0] in legal_actions(searcher.ruleset, view):
            after = step(searcher.ruleset, view, expected[0])
            state = view if is_over(after) else after
        self.pondered: SearchResult | None = None
        begun = threading.Event()

        def think() -> None:
            self.pondered = searcher.search(state, depth=60, seconds=seconds, started=begun)

        self._thread = threading.Thread(target=think, daemon=True)
        self._thread.start()
        begun.wait()

    def stop_pondering(self) -> None:
        if self._thread is not None:
            self.searcher.stop()
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        self.stop_pondering()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_searcher": None, "_thread": None}
