"""Games of discrete, sequential decisions as OpenSpiel games, so that OpenSpiel's algorithms run on them.

    import pyspiel
    from asobiba.api import openspiel

    openspiel.register()
    game = pyspiel.load_game("asobiba_battleship")

The parameters of a game that are numbers, booleans or text are OpenSpiel game parameters. Where the start or a step
draws random numbers, the OpenSpiel game has a chance node of `chance_outcomes` equally likely outcomes (a game
parameter), each of which seeds the generator anew for that one event: chance is sampled that often, and nobody who
holds a state knows the draws to come.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from asobiba.core import states
from asobiba.core.errors import GameParameterError, MissingExtra
from asobiba.core.game import Game, Ruleset
from asobiba.core.random import seed_keys
from asobiba.core.registry import games

try:
    import pyspiel
except ImportError:
    raise MissingExtra("open-spiel", "openspiel") from None

CHANCE_OUTCOMES = 64
_registered: dict[str, Game] = {}


def short_name(game: Game) -> str:
    """The name of a game in OpenSpiel, such as `asobiba_battleship`."""
    return f"asobiba_{game.name}" if game.version == 0 else f"asobiba_{game.name}_v{game.version}"


def playable(game: Game) -> bool:
    """Whether the game has an OpenSpiel form: one player acts at a time, and actions are discrete."""
    return game.turns == "sequential" and game.ruleset().discrete


def register(*wanted: Game) -> list[str]:
    """Enters games (by default all that have an OpenSpiel form) into OpenSpiel's registry; returns their names there.

    Raises:
        GameParameterError: for a game that has no OpenSpiel form.
    """
    names = []
    for game in wanted or [g for g in games() if playable(g)]:
        if not playable(game):
            raise GameParameterError(
                f"{game.name} has no OpenSpiel form: that takes discrete actions and one player at a time"
            )
        name = short_name(game)
        if name not in _registered:
            pyspiel.register_game(_game_type(game.ruleset()), _game_class(game))
            _registered[name] = game
        names.append(name)
    return names


def _spiel_parameters(game: Game) -> dict[str, Any]:
    kept = {k: v for k, v in game.parameters.items() if isinstance(v, (bool, int, float, str))}
    return {**kept, "chance_outcomes": CHANCE_OUTCOMES}


def _game_type(ruleset: Ruleset) -> pyspiel.GameType:
    kinds = pyspiel.GameType
    game, players = ruleset.game, ruleset.num_players
    utility = {
        "zero_sum": kinds.Utility.ZERO_SUM,
        "general_sum": kinds.Utility.GENERAL_SUM,
        "single_agent": kinds.Utility.GENERAL_SUM,
    }[game.utility]
    return kinds(
        short_name=short_name(game),
        long_name=game.title,
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC if ruleset.chance else kinds.ChanceMode.DETERMINISTIC,
        information=kinds.Information.PERFECT_INFORMATION
        if game.information == "perfect"
        else kinds.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=kinds.RewardModel.REWARDS,
        max_num_players=max(players, 16),
        min_num_players=1,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_spiel_parameters(game),
    )


def _game_class(game: Game) -> type[SpielGame]:
    # OpenSpiel's registry frees what is registered after Python has ended, which only a class survives.
    return type(f"Spiel{game.camel_name}", (SpielGame,), {"declaration": game})


class SpielGame(pyspiel.Game):
    """A ruleset as an OpenSpiel game."""

    declaration: Game

    def __init__(self, params: dict[str, Any] | None = None):
        game = self.declaration
        given = dict(params or {})
        outcomes = int(given.pop("chance_outcomes", CHANCE_OUTCOMES))
        self.ruleset: Ruleset = game.ruleset(**given)
        self.chance_outcomes_count = outcomes if self.ruleset.chance else 0
        low, high = self.ruleset.return_range
        info = pyspiel.GameInfo(
            num_distinct_actions=self.ruleset.num_actions,
            max_chance_outcomes=self.chance_outcomes_count,
            num_players=self.ruleset.num_players,
            min_utility=float(low),
            max_utility=float(high),
            utility_sum=0.0 if game.utility == "zero_sum" else None,
            max_game_length=self.ruleset.max_steps,
        )
        super().__init__(_game_type(self.ruleset), info, params or {})

    def new_initial_state(self) -> SpielState:
        return SpielState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> SpielObserver:
        return SpielObserver(self.ruleset, params)


class SpielState(pyspiel.State):
    """A state record as an OpenSpiel state."""

    def __init__(self, game: SpielGame):
        super().__init__(game)
        self._ruleset = game.ruleset
        self._outcomes = game.chance_outcomes_count
        self._returns = np.zeros(game.ruleset.num_players)
        self._pending: int | None = None  # the action that waits for chance
        self._start = states.new_state(game.ruleset, 0)
        self._record = self._start
        self._waits = bool(self._start["rng_counter"])  # the start itself is drawn

    @property
    def record(self) -> np.void:
        """A copy of the state record."""
        return self._record.copy()

    def current_player(self) -> int:
        if self._waits:
            return pyspiel.PlayerId.CHANCE
        if self.is_terminal():
            return pyspiel.PlayerId.TERMINAL
        return int(self._record["to_move"])

    def is_terminal(self) -> bool:
        return not self._waits and states.is_over(self._record)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(k, 1.0 / self._outcomes) for k in range(self._outcomes)]

    def _legal_actions(self, player: int) -> list[int]:
        if player != self.current_player():
            return []
        return states.legal_actions(self._ruleset, self._record).tolist()

    def _apply_action(self, action: int) -> None:
        if self._waits:
            self._waits = False
            if self._pending is None:
                self._record = states.new_state(self._ruleset, action + 1)
                return
            pending, self._pending = self._pending, None
            before = self._record.copy()
            before["rng_key"] = seed_keys([action], int(before["steps"]) + 4)[0]
            before["rng_counter"] = 0
            self._become(states.step(self._ruleset, before, pending))
            return
        after = states.step(self._ruleset, self._record, action)
        if after["rng_counter"] != self._record["rng_counter"]:
            self._waits, self._pending = True, action
        else:
            self._become(after)

    def _become(self, record: np.void) -> None:
        self._record = record
        self._returns += record["rewards"]

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"chance {action}"
        if self._ruleset.game.notation is None:
            return str(action)
        return self._ruleset.notation.action_to_text(self._ruleset, self._record, action)

    def rewards(self) -> list[float]:
        if self._waits:
            return [0.0] * len(self._returns)
        return self._record["rewards"].astype(float).tolist()

    def returns(self) -> list[float]:
        return self._returns.tolist()

    def information_state_string(self, player: int | None = None) -> str:
        """Everything that a player has seen and done: a digest of its views, in order."""
        player = self.current_player() if player is None else player
        digest = hashlib.sha256()
        replay = self.get_game().new_initial_state()
        seen = None
        for mover, action in [(None, 0), *((pair.player, pair.action) for pair in self.full_history())]:
            if mover is not None:
                replay.apply_action(action)
                if mover == player:
                    digest.update(f"action {action};".encode())
            if not replay._waits:
                view = states.view_of(self._ruleset, replay._record, player).tobytes()
                if view != seen:
                    digest.update(view)
                    seen = view
        return f"player {player}: {digest.hexdigest()}"

    def observation_string(self, player: int | None = None) -> str:
        player = self.current_player() if player is None else player
        return SpielObserver(self._ruleset).string_from(self, player)

    def __str__(self) -> str:
        from asobiba.api.render import ansi

        text = ansi(self._ruleset, self._record)
        return f"{text}\n(chance, after {self._pending})" if self._waits else text


class SpielObserver:
    """The learning observation of a game, by its named channels."""

    def __init__(self, ruleset: Ruleset, params: dict[str, Any] | None = None):
        if params:
            raise GameParameterError(f"the observer of {ruleset.game.name} takes no parameters, not {params}")
        self._ruleset = ruleset
        self.tensor = np.zeros(ruleset.observation_size, np.float32)
        self.dict = ruleset.channels(self.tensor)

    def set_from(self, state: SpielState, player: int) -> None:
        if state._waits and state._pending is None:
            self.tensor.fill(0)  # nothing is dealt yet
        else:
            self.tensor[:] = states.observation(self._ruleset, state._record, player)

    def string_from(self, state: SpielState, player: int) -> str:
        self.set_from(state, player)
        parts = (f"{name}:{' '.join(f'{x:g}' for x in values.ravel())}" for name, values in self.dict.items())
        return f"player {player} {'; '.join(parts)}"
