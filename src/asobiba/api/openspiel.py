"""Games of discrete actions as OpenSpiel games, so that OpenSpiel's algorithms run on them.

    import pyspiel
    from asobiba.api import openspiel

    openspiel.register()
    game = pyspiel.load_game("asobiba_battleship(height=3,width=3,fleet=2;1)")

The parameters of a game become OpenSpiel game parameters: numbers, booleans and text unchanged, sequences as text with
semicolons (or commas, if the parameters are given as a dictionary), and `none` where the default is `None`. The adaptor
adds:

* `chance_outcomes`: where the start or a step draws random numbers, a chance node has this many equally likely
  outcomes, each of which reseeds the generator for that one event. So chance is sampled, and a state does not reveal
  the draws to come.
* `horizon`: the game is cut off after so many steps, with the rewards paid until then (0: at its own greatest length).
  A short horizon makes trees small enough for a full traversal.

Where all rewards are paid at the end (the greatest return is that of one step) the reward model says so, as OpenSpiel's
Monte-Carlo tree search requires. Where several players act at once there is a simultaneous node; players who do not act
have no legal actions there, and actions given for them are ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from asobiba.api.openspiel_state import Moment, SpielObserver, begin, tensor_shape
from asobiba.core import states
from asobiba.core.errors import GameParameterError, IllegalAction, MissingExtra
from asobiba.core.game import Game, Ruleset
from asobiba.core.random import Stream, seed_keys
from asobiba.core.registry import games

__all__ = [
    "SpielGame",
    "SpielState",
    "playable",
    "register",
    "short_name",
]

try:
    import pyspiel
except ImportError:
    raise MissingExtra("open-spiel", "openspiel") from None

CHANCE_OUTCOMES = 64
_LARGEST_TENSOR = 1 << 22
_registered: dict[str, Game] = {}


def short_name(game: Game) -> str:
    """The name of a game in OpenSpiel, such as `asobiba_battleship`."""
    return f"asobiba_{game.name}" if game.version == 0 else f"asobiba_{game.name}_v{game.version}"


def playable(game: Game) -> bool:
    """Whether the game has an OpenSpiel form: its actions are discrete."""
    return game.ruleset().discrete


def register(*wanted: Game) -> list[str]:
    """Enters games (by default all that have an OpenSpiel form) into OpenSpiel's registry; returns their names there.

    Raises:
        GameParameterError: for a game that has no OpenSpiel form.
    """
    names = []
    for game in wanted or [g for g in games() if playable(g)]:
        if not playable(game):
            raise GameParameterError(f"{game.name} has no OpenSpiel form: that takes discrete actions")
        name = short_name(game)
        if name not in _registered:
            pyspiel.register_game(_game_type(game.ruleset(), 0), _game_class(game))
            _registered[name] = game
        names.append(name)
    return names


def _as_spiel(value: Any) -> Any:
    """A default as OpenSpiel holds it, or `None` for one that it cannot hold."""
    if value is None:
        return "none"
    if isinstance(value, (tuple, list)) and all(isinstance(part, (int, float, str)) for part in value):
        return ";".join(map(str, value))
    return value if isinstance(value, (bool, int, float, str)) else None


def _from_spiel(default: Any, value: Any) -> Any:
    """Parameters of the game, from those that OpenSpiel holds."""
    if isinstance(value, str) and isinstance(default, (tuple, list)):
        return tuple(yaml.safe_load(f"[{value.replace(';', ',')}]"))
    if isinstance(value, str) and default is None:
        return None if value in ("", "none") else yaml.safe_load(value)
    return value


def _spiel_parameters(game: Game) -> dict[str, Any]:
    kept = {name: held for name, value in game.parameters.items() if (held := _as_spiel(value)) is not None}
    return {**kept, "chance_outcomes": CHANCE_OUTCOMES, "horizon": 0}


def _pays_at_the_end(ruleset: Ruleset) -> bool:
    """Whether no player can be rewarded more than once; then the reward comes at the end."""
    return ruleset.return_range == tuple(ruleset.game.reward_range)


def _game_type(ruleset: Ruleset, tensor_size: int) -> pyspiel.GameType:
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
        dynamics=kinds.Dynamics.SEQUENTIAL if game.turns == "sequential" else kinds.Dynamics.SIMULTANEOUS,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC if ruleset.chance else kinds.ChanceMode.DETERMINISTIC,
        information=kinds.Information.PERFECT_INFORMATION
        if game.information == "perfect"
        else kinds.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=kinds.RewardModel.TERMINAL if _pays_at_the_end(ruleset) else kinds.RewardModel.REWARDS,
        max_num_players=max(players, 16),
        min_num_players=1,
        provides_information_state_string=True,
        provides_information_state_tensor=tensor_size <= _LARGEST_TENSOR,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_spiel_parameters(game),
    )


def _game_class(game: Game) -> type[SpielGame]:
    # OpenSpiel's registry frees its entries after Python has ended; only a class survives that.
    return type(f"Spiel{game.camel_name}", (SpielGame,), {"declaration": game})


class SpielGame(pyspiel.Game):
    """A ruleset as an OpenSpiel game."""

    declaration: Game

    def __init__(self, params: dict[str, Any] | None = None):
        game = self.declaration
        given = dict(params or {})
        outcomes = int(given.pop("chance_outcomes", CHANCE_OUTCOMES))
        horizon = int(given.pop("horizon", 0))
        defaults = game.parameters
        self.ruleset: Ruleset = game.ruleset(**{k: _from_spiel(defaults.get(k), v) for k, v in given.items()})
        if outcomes < 1 or horizon < 0:
            raise GameParameterError(
                f"chance_outcomes is {outcomes} and horizon {horizon}; expected at least 1 outcome, and a horizon from 0"
            )
        self.chance_outcomes_count = outcomes if self.ruleset.chance else 0
        self.horizon = min(horizon or self.ruleset.max_steps, self.ruleset.max_steps)
        self.start = states.new_state(self.ruleset, 0)
        low, high = self.ruleset.return_range
        info = pyspiel.GameInfo(
            num_distinct_actions=self.ruleset.num_actions,
            max_chance_outcomes=self.chance_outcomes_count,
            num_players=self.ruleset.num_players,
            min_utility=float(low),
            max_utility=float(high),
            utility_sum=0.0 if game.utility == "zero_sum" else None,
            max_game_length=self.horizon,
        )
        size = int(np.prod(tensor_shape(self.ruleset, self.horizon)))
        super().__init__(_game_type(self.ruleset, size), info, params or {})

    def new_initial_state(self) -> SpielState:
        return SpielState(self)

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: dict[str, Any] | None = None
    ) -> SpielObserver:
        recall = iig_obs_type is not None and iig_obs_type.perfect_recall
        return SpielObserver(self.ruleset, self.horizon if recall else None, params)


class SpielState(pyspiel.State):
    """A state record, with its history, as an OpenSpiel state."""

    def __init__(self, game: SpielGame):
        super().__init__(game)
        self._ruleset = game.ruleset
        self._outcomes = game.chance_outcomes_count
        self._horizon = game.horizon
        self._pending: Any = None  # the action that waits for chance
        self._waits = bool(game.start["rng_counter"])  # the start itself is drawn
        self._moment: Moment | None = None if self._waits else begin(game.ruleset, game.start)
        self._start = game.start
        self._returns = np.zeros(game.ruleset.num_players)

    @property
    def _record(self) -> np.void:
        return self._start if self._moment is None else self._moment.record

    @property
    def record(self) -> np.void:
        """A copy of the state record."""
        return self._record.copy()

    @property
    def moment(self) -> Moment | None:
        """The position with its history; `None` before the start is drawn."""
        return self._moment

    def _actors(self) -> list[int]:
        """The players who act now."""
        mask = states.action_mask(self._ruleset, self._record)
        if mask.ndim == 1:
            return [int(self._record["to_move"])]
        return np.flatnonzero(mask.any(1)).tolist()

    def current_player(self) -> int:
        if self._waits:
            return pyspiel.PlayerId.CHANCE
        if self.is_terminal():
            return pyspiel.PlayerId.TERMINAL
        if not self._ruleset.simultaneous:
            return int(self._record["to_move"])
        actors = self._actors()
        return actors[0] if len(actors) == 1 else pyspiel.PlayerId.SIMULTANEOUS

    def is_terminal(self) -> bool:
        return not self._waits and (states.is_over(self._record) or int(self._record["steps"]) >= self._horizon)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(k, 1.0 / self._outcomes) for k in range(self._outcomes)]

    def _legal_actions(self, player: int) -> list[int]:
        if self.is_terminal() or self._waits:
            return []
        if not self._ruleset.simultaneous and player != int(self._record["to_move"]):
            return []
        return states.legal_actions(self._ruleset, self._record, player).tolist()

    def _apply_action(self, action: int) -> None:
        if self._waits:
            self._draw(action)
        elif self._ruleset.simultaneous:  # only one player acts
            actor, *others = self._actors()
            if others:
                raise IllegalAction(
                    f"{len(others) + 1} players act at once: use apply_actions, with an action for each"
                )
            self._apply_actions([action if k == actor else 0 for k in range(actor + 1)])
        else:
            self._advance({int(self._record["to_move"]): action}, action)

    def _apply_actions(self, actions: list[int]) -> None:
        actors = self._actors()
        if len(actions) > self._ruleset.seats or len(actions) <= max(actors, default=-1):
            raise IllegalAction(f"{len(actions)} actions were given for {self._ruleset.num_players} players")
        joint = np.zeros(self._ruleset.seats, np.int64)
        joint[: len(actions)] = actions
        self._advance({k: actions[k] for k in actors}, joint)

    def _advance(self, done: dict[int, int], action: Any) -> None:
        after = states.step(self._ruleset, self._record, action)
        if after["rng_counter"] != self._record["rng_counter"]:
            self._waits, self._pending = True, (done, action)
        else:
            self._become(done, after)

    def _draw(self, outcome: int) -> None:
        self._waits = False
        if self._moment is None:
            self._moment = begin(self._ruleset, states.new_state(self._ruleset, outcome + 1))
            return
        (done, action), self._pending = self._pending, None
        before = self._record.copy()
        before["rng_key"] = seed_keys([outcome], Stream.CHANCE_NODE + int(before["steps"]))[0]
        before["rng_counter"] = 0
        self._become(done, states.step(self._ruleset, before, action))

    def _become(self, done: dict[int, int], record: np.void) -> None:
        assert self._moment is not None
        self._moment = self._moment.after(self._ruleset, done, record)
        self._returns = self._returns + record["rewards"]

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"chance {action}"
        if self._ruleset.game.notation is None or self._ruleset.simultaneous:
            return str(action)
        return self._ruleset.notation.action_to_text(self._ruleset, self._record, action)

    def rewards(self) -> list[float]:
        if self._waits:
            return [0.0] * len(self._returns)
        return self._record["rewards"].astype(float).tolist()

    def returns(self) -> list[float]:
        return self._returns.tolist()

    def information_state_string(self, player: int | None = None) -> str:
        """A digest of all views and actions of a player, in order."""
        player = states.require_seat(self._ruleset, self.current_player() if player is None else player)
        return f"player {player}: {'' if self._moment is None else self._moment.knows[player].hex()}"

    def resample_from_infostate(self, player: int, random: Any) -> SpielState:
        """A state that `player` cannot tell from this one: the rules draw anew all that is hidden from him.

        The history stays that of this state, so the result must not be serialised.
        """
        player = states.require_seat(self._ruleset, player)
        drawn = self.clone()
        if self._moment is not None and self._ruleset.hidden:
            record = states.resample(self._ruleset, self._record, player, int(random() * 2**53))
            drawn._moment = self._moment.imagined(self._ruleset, player, record)
        return drawn

    def observation_string(self, player: int | None = None) -> str:
        player = self.current_player() if player is None else player
        return SpielObserver(self._ruleset).string_from(self, player)

    def __str__(self) -> str:
        from asobiba.api.render import ansi

        text = ansi(self._ruleset, self._record)
        return f"{text}\n(chance, after {self._pending})" if self._waits else text
