"""A policy saved by Stable-Baselines3 as an agent: `sb3:PATH`."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from asobiba.core.agents import Agent, Thinking, agent_loader, agent_packages, parse_agent
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Game, Ruleset
from asobiba.learn.formulas import Formulas, formulas_thinking
from asobiba.learn.kernels import load_network, network_of
from asobiba.learn.memory import is_stateless, memory_class
from asobiba.learn.network_agent import NetworkAgent
from asobiba.learn.observing import observe
from asobiba.learn.policy_file import PolicyFile, PolicyFileError, arguments_of, load_policy, open_policy
from asobiba.learn.thinking import network_thinking

if TYPE_CHECKING:
    from asobiba.learn.memory import Memory

__all__ = ["PolicyAgent", "PolicyFileError", "load_agent", "load_policy", "observe"]
_WORTH_THREADS = 64


def drawn(scores: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Actions `(n,)` with the probabilities of these logits `(n, actions)`, -inf for none, by numbers `(n,)` from 0 to 1:
    the first action whose cumulated probability exceeds the number."""
    sums = np.exp(scores - scores.max(1, keepdims=True)).cumsum(1)
    total = sums[:, -1:]
    # Below the last sum, so that it belongs to an action that has a probability, however the product is rounded.
    return (sums <= np.minimum(numbers[:, None] * total, np.nextafter(total, 0))).sum(1)


class PolicyAgent(Agent):
    """Plays a policy of Stable-Baselines3.

    A policy may have been trained in a smaller game: one whose observation channels all occur in this game's, by name
    and shape, and whose actions are the first of this game's (asobiba.learn.networks.BoardPolicy knows its channels).

    Args:
        policy: of Stable-Baselines3 or sb3-contrib, over flat observations; or a file with one, whose weights are loaded
            after a check that the game has its spaces.
        name: its name in tables.
        deterministic: play the likeliest legal action; otherwise draw from the policy's distribution.
        quick: draw with one random number a decision, not one an action: other draws from the same distribution, in a third
            of the time.
    """

    def __init__(self, policy: Any, name: str = "sb3", deterministic: bool = True, quick: bool = False):
        self._policy = policy
        self.name = name
        self.deterministic, self.quick = deterministic, quick
        self._ruleset: Ruleset | None = None

    @property
    def policy(self) -> Any:
        """The policy, loaded."""
        return self._load()

    def _load(self) -> Any:
        if isinstance(self._policy, PolicyFile):
            self._policy = self._policy.load()
        return self._policy

    def prepare(self, ruleset: Ruleset) -> None:
        self._fit(ruleset)
        self._load()

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if ruleset != self._ruleset:
            self._columns = self._fit(ruleset)
            self._ruleset = ruleset
        self._memory: Memory | None = None
        self._hidden: tuple[Any, Any] | None = None
        self._generator = np.random.Generator(np.random.Philox(seed))

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled form, if the best action of an actor is played: of dense layers as `net_uct` computes them, of any
        others as PyTorch's exporter lists them (`asobiba.learn.formulas`)."""
        if self._fit(ruleset) is None and not self.completes and self._plays_the_best(ruleset):
            kind = type(self.policy)
            tensors = {name: tensor.detach().numpy() for name, tensor in self.policy.state_dict().items()}
            with contextlib.suppress(PolicyFileError):
                network = network_of(f"{kind.__module__}:{kind.__qualname__}", arguments_of(self.policy), tensors)
                if network.value >= 0:  # convolutions are much shorter as formulas
                    return network_thinking(ruleset, network)
        completed = getattr(self._memory_kind, "completed", None)
        if completed is not None and not self.remembers and self._plays_the_best(ruleset):
            from asobiba.learn.tracing import has_actor, traced

            return formulas_thinking(ruleset, traced(self.policy), None, completed) if has_actor(self.policy) else None
        found = self.as_formulas(ruleset)
        return None if found is None else formulas_thinking(ruleset, *found)

    def as_formulas(self, ruleset: Ruleset) -> tuple[Formulas, np.ndarray | None] | None:
        """The policy's actor without PyTorch, and the columns of the game's observation that it reads (`None`: all);
        `None` for a policy that has no actor, draws its actions, or has a memory."""
        columns = self._fit(ruleset)
        if self.completes or not self._plays_the_best(ruleset):
            return None
        from asobiba.learn.tracing import has_actor, traced

        return (traced(self.policy), columns) if has_actor(self.policy) else None

    def _plays_the_best(self, ruleset: Ruleset) -> bool:
        return not (self._values or self.remembers or self.reads_masks) and self.deterministic and ruleset.discrete

    @property
    def partial(self) -> bool:
        """Whether the policy was trained in a smaller game than the one it is in now."""
        return self._columns is not None

    def _fit(self, ruleset: Ruleset) -> np.ndarray | None:
        """The columns of the game's observation that the policy reads (`None`: all, in order)."""
        seen, actions, channels = self._policy.observation_space.shape, self._policy.action_space, self._channels
        if "memory" in channels:
            seen = (seen[0] - channels["memory"][0],)
        if self.reads_masks and ruleset.discrete:
            seen = (seen[0] - ruleset.num_actions,)
        if seen == ruleset.observation_space.shape and actions == ruleset.action_space:
            return None
        known = ruleset.layout.observation
        if not channels or any(tuple(known.get(name, ())) != tuple(shape) for name, shape in channels.items()):
            raise PolicyFileError(
                f"{self.name} was trained on observations {seen} and {actions}, but {ruleset} has observations "
                f"{ruleset.observation_space.shape} and {ruleset.action_space}"
            )
        if not ruleset.discrete or int(actions.n) > ruleset.num_actions:
            raise PolicyFileError(f"{self.name} chooses among {actions}, but {ruleset} has {ruleset.action_space}")
        columns = ruleset.channels(np.arange(ruleset.observation_size))
        return np.concatenate([columns[name].reshape(-1) for name in channels])

    @property
    def remembers(self) -> bool:
        """Whether the policy must see every observation of a game."""
        return self._recurrent or (self.completes and not is_stateless(self._memory_kind))

    @property
    def completes(self) -> bool:
        """Whether a memory completes what the policy observes."""
        return "memory" in self._channels

    @property
    def _memory_kind(self) -> Any:
        """The class of the memory that completes what the policy observes, if the policy names it."""
        text = self._policy.memory if isinstance(self._policy, PolicyFile) else getattr(self._policy, "_memory", "")
        return memory_class(text) if text else None

    @property
    def _recurrent(self) -> bool:
        return hasattr(self._policy, "lstm_actor") or getattr(self._policy, "recurrent", False)

    @property
    def reads_masks(self) -> bool:
        """Whether the mask stands at the end of what the policy observes."""
        return getattr(self._policy, "reads_masks", False)

    @property
    def _channels(self) -> dict[str, tuple[int, ...]]:
        return getattr(self._policy, "channels", {})

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        assert self._ruleset is not None
        views = np.zeros(1, view.dtype)
        views[0] = view
        return self.choose(observe(self._ruleset, views), legal[None])[0]

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray | None:
        """Actions `(n,)` for view records `(n,)` and masks `(n, num_actions)`, by one pass of the network; `None` for a
        policy with a memory, which must see all of a game."""
        if self.remembers:
            return None
        assert self._ruleset is not None
        return self.choose(observe(self._ruleset, views), legal)

    def begin_rows(self, ruleset: Ruleset, count: int, seed: int) -> None:
        """Begins `count` games that are played side by side, each from one seat; `act_rows` then answers for some of them."""
        self.begin(ruleset, (0,), (seed,))
        if self._recurrent:
            self._hidden = self._no_hidden(count)
        elif self.completes:
            self._memory = self.policy.memory(ruleset, count)

    def act_rows(
        self, views: np.ndarray, legal: np.ndarray, seats: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Actions `(k,)` in the games `rows` `(k,)`, and the actions that it would choose without the mask (`None`
        where actions are continuous).

        Args:
            views: records `(k,)`; `legal`: masks `(k, num_actions)`; `seats`: its seats `(k,)`.
        """
        assert self._ruleset is not None
        actions = self.choose(observe(self._ruleset, views, seats), legal, rows)
        return actions, self._unmasked

    def choose(self, observations: np.ndarray, legal: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Actions `(n,)` for observations `(n, size)` and masks `(n, num_actions)`.

        A policy with a memory must be shown every observation of the same `n` games, in order, since `begin`; or of the
        games `rows` `(n,)`, since `begin_rows`.
        """
        if self.completes and not self._recurrent:
            if self._memory is None:
                assert self._ruleset is not None
                self._memory = self.policy.memory(self._ruleset, len(observations))
            observations = self._memory.look(observations, rows)
        return self.choose_by(observations, legal, rows)

    def choose_by(self, observations: np.ndarray, legal: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """`choose` for observations that a memory has completed already."""
        import torch

        self._unmasked: np.ndarray | None = None
        if self._columns is not None:
            observations, legal = observations[:, self._columns], legal[:, : int(self.policy.action_space.n)]
        if self.reads_masks:
            observations = np.concatenate([observations, legal.astype(observations.dtype)], 1)
        with torch.no_grad(), _few_threads(len(observations)):
            if legal.shape[1:] == (0,):
                return self._continuous(observations, rows)
            logits = self.logits(torch.as_tensor(observations, device=self.policy.device).float(), rows).cpu().numpy()
        if not self.reads_masks:
            self._unmasked = logits.argmax(1)
        scores = np.where(legal != 0, logits, -np.inf)
        if not self.deterministic and not self._values:
            if self.quick:
                return drawn(scores, self._generator.random(len(scores)))
            scores = scores + self._generator.gumbel(size=scores.shape)
        return scores.argmax(1)

    @property
    def _values(self) -> bool:
        """Whether the network's outputs are values of actions; then there is no distribution to draw from."""
        return hasattr(self.policy, "q_net") or hasattr(self.policy, "quantile_net")

    def logits(self, observations: Any, rows: np.ndarray | None) -> Any:
        """Scores of all actions, `(n, num_actions)`, for tensors of observations; rows as in `choose`."""
        policy = self.policy
        if hasattr(policy, "q_net"):
            return policy.q_net(observations)
        if hasattr(policy, "quantile_net"):
            return policy.quantile_net(observations).mean(1)
        if self._recurrent:
            return self._remembering(observations, rows).distribution.logits
        features = policy.extract_features(observations)
        if isinstance(features, tuple):
            features = features[0]
        return policy.action_net(policy.mlp_extractor.forward_actor(features))

    def _continuous(self, observations: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        import torch

        if not self._recurrent:
            return self.policy.predict(observations, deterministic=self.deterministic)[0]
        found = self._remembering(torch.as_tensor(observations, device=self.policy.device).float(), rows)
        actions = found.mode().cpu().numpy()
        if not self.deterministic:
            spread = found.distribution.stddev.cpu().numpy()
            actions = actions + spread * self._generator.standard_normal(actions.shape).astype(np.float32)
        space = self.policy.action_space
        return np.clip(actions, space.low, space.high)

    def _no_hidden(self, count: int) -> tuple[Any, Any]:
        import torch

        layers, _, size = self.policy.lstm_hidden_state_shape
        one, other = (torch.zeros(layers, count, size, device=self.policy.device) for _ in range(2))
        return one, other

    def _remembering(self, observations: Any, rows: np.ndarray | None) -> Any:
        """The distribution of a recurrent policy's actions; updates its memory of these games."""
        import torch

        if self._hidden is None:
            self._hidden = self._no_hidden(len(observations))
        where = slice(None) if rows is None else torch.as_tensor(rows)
        begun = torch.zeros(len(observations), device=self.policy.device)  # new games begin with zeros already
        states = tuple(part[:, where].contiguous() for part in self._hidden)
        found, after = self.policy.get_distribution(observations, states, begun)
        for kept, part in zip(self._hidden, after, strict=True):
            kept[:, where] = part
        return found


@contextlib.contextmanager
def _few_threads(games: int) -> Iterator[None]:
    """Lets PyTorch work on one core when there is little to compute; on a busy machine, waiting for a second core costs
    ten times the work.
    """
    import torch

    threads = torch.get_num_threads()
    if games > _WORTH_THREADS or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@agent_loader(starts="nothing")
def load_agent(game: Game, argument: str) -> Agent:
    """The loader behind `sb3:PATH` and `sb3:PATH,key=value` (entry point of the group `asobiba.agent_loaders`).

    A game whose policies need a complement (a strategy for situations outside their training) names it in `LEARNED` of
    its folder under `baselines/`: game -> a function `(player, ...) -> Agent` whose parameters are the keys.

    Raises:
        GameParameterError: for a key that the game does not know.
    """
    path, _, tail = argument.partition(",")
    settings = parse_agent(f"sb3:{tail}")[1]
    complete = _completion(game)
    known = list(inspect.signature(complete).parameters)[1:] if complete else []
    for key in settings:
        if key not in known:
            raise GameParameterError(
                f"sb3:{argument}: a policy has no parameter {key!r} in {game.name}; it has: {', '.join(known) or 'none'}"
            )
    policy = open_policy(path)
    if complete:
        return complete(PolicyAgent(policy, name=f"sb3:{argument}"), **settings)
    return _compiled(game, policy, argument) or PolicyAgent(policy, name=f"sb3:{argument}")


def _compiled(game: Game, policy: Any, argument: str) -> Agent | None:
    """A policy for the game as it is usually played in compiled code, without PyTorch, if its layers allow it (see
    `asobiba.learn.kernels`); otherwise `None`."""
    usual = game.ruleset()
    if not (usual.discrete and isinstance(policy, PolicyFile) and policy.fits(usual)):
        return None
    if "memory" in policy.channels and not policy.memory:  # only its own class knows it
        return None
    try:
        network = load_network(policy.path)
    except PolicyFileError:
        return None
    if (network.inputs,) != policy.observation_space.shape or network.actions != usual.num_actions:
        return None
    name = f"sb3:{argument}"
    portable = None if network.value >= 0 and not policy.memory else PolicyAgent(policy, name=name)
    return NetworkAgent(network, name, portable, policy.memory)


def _completion(game: Game) -> Callable[..., Agent] | None:
    for package in agent_packages(game.name):
        found = getattr(importlib.import_module(package), "LEARNED", {}).get(game.name)
        if found is not None:
            return found
    return None
