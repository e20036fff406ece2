"""A warm start: before it plays, a policy learns a teacher's actions and the games' returns.

The teacher plays itself; with `student` above 0 the policy itself sits at some of the seats, so that the teacher is
asked about the positions that the policy reaches. With `again` above 0 every round of games is learned together with
decisions of earlier rounds.

A teacher may have a method `worths(views, legal)` that tells what every action is worth to the player to move, `(n,
num_actions)`. With `temperature` above 0 the policy learns these worths rather than actions: it makes the expected worth
plus so many times its entropy greatest. Worths may be noisy, as they are only averaged. Such a teacher does what it told to
be worth most; it plays the first round alone, and what it told in earlier rounds is learned again, as it stays true.

Sources: D. A. Pomerleau, "ALVINN: An autonomous land vehicle in a neural network", NIPS 1988 (behavioural cloning);
S. Ross, G. Gordon and D. Bagnell, "A reduction of imitation learning and structured prediction to no-regret online
learning", AISTATS 2011 (the student's own positions).
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from asobiba.api.sb3 import torch_threads_kept
from asobiba.api.seating import Seating
from asobiba.core.agents import Agent, make_agent
from asobiba.core.errors import IllegalAction
from asobiba.core.game import Ruleset
from asobiba.core.states import agent_views
from asobiba.learn.agent import PolicyAgent, observe
from asobiba.learn.config import ConfigError
from asobiba.learn.memory import Memory, memory_class
from asobiba.learn.shaping import Potential, potential_class
from asobiba.learn.turning import Turns

NEAR = 0.1
"""A continuous action counts as the teacher's if none of its entries differs by more."""
LAST_RATE = 0.1
"""The learning rate falls, linearly, to this share of the first."""
_WORTHS = 20.0
"""Weight of the worth beside half the squared error of the value, so that clipping leaves room for it."""


class Decisions(NamedTuple):
    """Observations, masks and the teacher's actions, `(k, size)`, `(k, actions)` and `(k,)`, and the returns, `(k,)`
    float32; what every action is worth, `(k, actions)` float32, if the teacher tells it.
    """

    observations: np.ndarray
    masks: np.ndarray
    actions: np.ndarray
    values: np.ndarray
    worths: np.ndarray | None = None

    def joined(self, more: Decisions) -> Decisions:
        """These decisions, then `more`."""
        both: Any = zip(self, more, strict=True)
        columns: list[Any] = [None if one is None else np.concatenate((one, two)) for one, two in both]
        return Decisions(*columns)

    def taken(self, rows: np.ndarray, turns: Turns | None, generator: np.random.Generator) -> Decisions:
        """The decisions `rows` `(k,)`, each through one of the symmetries `turns`, drawn at random; `None`: as they are."""
        columns: list[Any] = [None if column is None else column[rows] for column in self]
        found = Decisions(*columns)
        if turns is None:
            return found
        images = generator.integers(len(turns.actions), size=len(rows))
        places = turns.actions[images]
        return Decisions(
            turns.seen(found.observations, images),
            np.take_along_axis(found.masks, places, 1),
            turns.turned(found.actions, images),
            found.values,
            None if found.worths is None else np.take_along_axis(found.worths, places, 1),
        )


def demonstrate(
    seating: Seating,
    seed: int,
    gamma: float,
    student: PolicyAgent | None = None,
    share: float = 0.0,
    memory: Memory | None = None,
    potential: Potential | None = None,
    teller: Any = None,
) -> Decisions:
    """Plays the games of a seating without learners to their ends; returns the decisions of all players who act.

    A decision's value is its player's return in the rest of the game, discounted by `gamma` for each further decision
    of that player.

    Args:
        seating: its agents are the teachers.
        seed: of the games, of the teachers and of the student.
        student: plays itself at a `share` of the seats, drawn for each game; the teachers are asked there too.
        memory: completes the observations; of `num_envs * players` rows, one for each player of each game.
        potential: its changes are added to the rewards, in games of one player.
        teller: an agent with `worths`, which then decides for the seating's agents; in games of alternating moves.
    """
    n, players = seating.num_envs, seating.players
    taken = np.zeros((n, players), bool)
    if student is not None:
        taken = np.random.Generator(np.random.Philox(seed)).random((n, players)) < share
        student.begin(seating.ruleset, (0,), (seed,))
    if teller is not None:
        teller.begin(seating.ruleset, (0,), (seed,))
    seeds = np.arange(n, dtype=np.uint64) + np.uint64(seed)
    seating.begin_games(seeds, np.stack([seeds + np.uint64(k) for k in range(players)], 1))
    running = np.ones(n, bool)
    parts: list[tuple[np.ndarray, ...]] = []
    rewards: list[np.ndarray] = []
    worths: list[np.ndarray] = []
    places: list[tuple[np.ndarray, np.ndarray]] = []
    while running.any():
        for seat in range(players if teller is None else 0):
            seating.decide(seat, seating.turn(seat, running))
        rows, seats = np.nonzero(np.stack([running & seating.acts(seat) for seat in range(players)], 1))
        where: Any = (rows, seats) if seating.ruleset.simultaneous else rows
        seen = observe(seating.ruleset, seating.states[rows], seats)  # without learners, steps do not observe
        if memory is not None:
            seen = memory.look(seen, rows * players + seats)
        if teller is not None:
            params = seating.params if len(seating.params) == 1 else seating.params[rows]
            views = agent_views(seating.ruleset, seating.states[rows], seats, params)
            told = np.where(seating.masks[rows] != 0, teller.worths(views, seating.masks[rows]), -np.inf)
            seating.actions[rows] = told.argmax(1)
            worths.append(np.where(seating.masks[rows] != 0, told, 0.0).astype(np.float32))
        if seating.ruleset.discrete:
            _require_legal(seating, seating.masks[where], seating.actions[where])
        own = taken[rows, seats]
        parts.append((seen, seating.masks[where], seating.actions[where].copy()))
        if student is not None and own.any():
            chosen = seating.actions[where]
            chosen[own] = _choices(student, seen[own], seating.masks[where][own])
            seating.actions[where] = chosen
        promised = potential(seating.states) if potential is not None else np.zeros(n)
        seating.advance(running)
        gained = np.where(running[:, None], seating.rewards, 0.0)
        if potential is not None:
            kept = np.where(seating.states["truncated"] != 0, promised, potential(seating.states))
            gained[running] += (np.where(seating.states["terminated"] != 0, 0.0, kept) - promised)[running, None]
        rewards.append(gained)
        places.append((rows, seats))
        running &= (seating.states["terminated"] | seating.states["truncated"]) == 0
    observations, masks, actions = (np.concatenate(column) for column in zip(*parts, strict=True))
    rest, values = np.zeros((n, players)), []
    for gained, (rows, seats) in zip(reversed(rewards), reversed(places), strict=True):
        rest += gained
        values.append(rest[rows, seats])
        rest[rows, seats] *= gamma
    returns = np.concatenate(values[::-1]).astype(np.float32)
    return Decisions(observations, masks, actions, returns, np.concatenate(worths) if worths else None)


def _require_legal(seating: Seating, masks: np.ndarray, actions: np.ndarray) -> None:
    """Raises `IllegalAction` if a teacher has decided what it may not: nobody should learn that."""
    known = np.clip(actions, 0, masks.shape[1] - 1)
    wrong = np.flatnonzero((known != actions) | (masks[np.arange(len(actions)), known] == 0))
    if len(wrong):
        raise IllegalAction(
            f"a teacher's action {actions[wrong[0]]} is illegal in {seating.ruleset.game.name}; legal are "
            f"{np.flatnonzero(masks[wrong[0]]).tolist()}. With `student` above 0 it is asked about positions that it did not "
            "choose: it must answer there too"
        )


def _choices(student: PolicyAgent, seen: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Actions of a student for these observations, which are already complete."""
    if student.policy.action_space.shape == ():
        return student.choose_by(seen, masks)
    return student.policy.predict(seen, deterministic=False)[0]


def mixed_openings(ruleset: Ruleset, count: int, share: float) -> np.ndarray:
    """Parameter records `(count,)` of games of which a share, spread evenly, begins with the ruleset's openings."""
    params = np.repeat(ruleset.params, count)
    if ruleset.opening_plies:
        params["opening_plies"][np.floor(np.arange(1, count + 1) * share) == np.floor(np.arange(count) * share)] = 0
    return params


def imitate(
    model: Any, ruleset: Ruleset, config: dict[str, Any], folder: Path, say: Callable[[str], None] | None = None
) -> None:
    """Teaches a fresh learner's policy and value; `imitation.csv` records its accuracy on each new round of games.

    Args:
        model: MaskablePPO, or PPO where actions are continuous.
        ruleset: the game.
        config: of the run; `imitation` names the teacher and its settings.
        folder: of the run.
        say: shows a line after every round of games; `None` says nothing.

    Raises:
        ConfigError: for a potential in a game of several players, and for a temperature with a teacher that
            does not tell what actions are worth.
    """
    settings = config["imitation"]
    teller = _teller(ruleset, settings)
    if ruleset.num_players > 1 and config["shaping"]:
        raise ConfigError(f"imitation knows shaping in games of one player only, and {ruleset.game.id} has several")
    count = config["num_envs"] * ruleset.num_players
    memory = memory_class(config["memory"])(ruleset, count) if config["memory"] else None
    potential = potential_class(config["shaping"])(ruleset) if config["shaping"] else None
    policy, generator = model.policy, np.random.Generator(np.random.Philox(config["seed"]))
    optimizer = torch.optim.Adam(policy.parameters(), lr=settings["learning_rate"])
    size = int(config["learner"]["batch_size"])
    seating = Seating(
        ruleset, config["num_envs"], opponent=settings["teacher"], seat=None, autoreset="disabled", threads=1,
        params=mixed_openings(ruleset, config["num_envs"], config["openings"]["share"]),
    )  # fmt: skip
    student = PolicyAgent(policy, "student", deterministic=False)
    turns = Turns.of(ruleset) if config["symmetry"] else None
    known: Decisions | None = None  # of earlier rounds
    seen = rounds = 0
    shown: Decisions | None = None
    policy.set_training_mode(True)
    with (folder / "imitation.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["decisions", "agreement", "log_likelihood" if teller is None else "worth", "value_error"])
        while seen < settings["decisions"]:
            with torch_threads_kept():
                seed = (config["seed"] << 32) + rounds * seating.num_envs
                share = 0.0 if teller is not None and not rounds else settings["student"]
                fresh = demonstrate(seating, seed, model.gamma, student, share, memory, potential, teller)
            shown = fresh if teller is None or shown is None else shown.joined(fresh)
            rate = settings["learning_rate"] * (1 - (1 - LAST_RATE) * seen / settings["decisions"])
            for group in optimizer.param_groups:
                group["lr"] = rate
            passes = [(shown, generator.permutation(len(shown.actions))) for _ in range(settings["epochs"])]
            if settings["again"]:
                if known is not None:
                    count = round(settings["again"] * len(shown.actions))
                    passes.append((known, generator.integers(len(known.actions), size=count)))
                known = shown if known is None else known.joined(shown)
            figures = []
            for decisions, order in passes:
                for first in range(0, len(order), size):
                    part = decisions.taken(order[first : first + size], turns, generator)
                    figures.append(_learn(policy, optimizer, part, model.max_grad_norm, settings["temperature"]))
            before = np.mean(figures[: -(-len(shown.actions) // size)], 0)  # of the first pass over them
            seen += len(fresh.actions)
            rounds += 1
            rows.writerow([seen, *(f"{figure:.4f}" for figure in before)])
            file.flush()
            if say is not None:
                say(
                    f"{seen:,} of {settings['decisions']:,} decisions of {settings['teacher']} seen, {before[0]:.0%} known before"
                )
    seating.close()


def _teller(ruleset: Ruleset, settings: dict[str, Any]) -> Any:
    """The teacher, if what it tells of all actions is to be learned."""
    if not settings["temperature"]:
        return None
    if settings["again"]:
        raise ConfigError(
            "imitation.again goes without a temperature, with which all that was told is learned again anyway"
        )
    teacher: Agent = make_agent(ruleset.game, settings["teacher"])
    if not hasattr(teacher, "worths") or not ruleset.discrete or ruleset.simultaneous:
        raise ConfigError(
            f"imitation.temperature is {settings['temperature']}, but {settings['teacher']} does not tell what the actions "
            f"of {ruleset.game.id} are worth; give 0, to learn what it does"
        )
    return teacher


def _learn(
    policy: Any, optimizer: Any, shown: Decisions, most: float, temperature: float
) -> tuple[float, float, float]:
    """One step of the optimiser; returns how often the likeliest action was the teacher's (continuous ones: within
    `NEAR`), the log-likelihood of its actions (or the worth of the policy's), and the squared error of the value."""
    observations = torch.as_tensor(shown.observations).float()
    latent, critic = policy.mlp_extractor(policy.extract_features(observations))
    told = policy.action_net(latent)
    if policy.action_space.shape == ():
        actions = torch.as_tensor(shown.actions.astype(np.int64))
        logits = told.masked_fill(torch.as_tensor(shown.masks) == 0, -1e8)
        if shown.worths is None:
            likelihood = -torch.nn.functional.cross_entropy(logits, actions)
        else:
            logs = torch.log_softmax(logits, 1)
            chances = logs.exp()
            likelihood = (chances * torch.as_tensor(shown.worths)).sum(1).mean()
            spread = -(chances * logs).sum(1).mean()
        agreed = logits.argmax(1) == actions
    else:
        actions = torch.as_tensor(shown.actions).float()
        drawn = policy.action_dist.proba_distribution(told, policy.log_std.detach())
        likelihood = drawn.log_prob(actions).mean()
        agreed = ((told - actions).abs() < NEAR).all(1)
    error = torch.nn.functional.mse_loss(policy.value_net(critic)[:, 0], torch.as_tensor(shown.values))
    optimizer.zero_grad()
    aim = likelihood if shown.worths is None else _WORTHS * (likelihood + temperature * spread)
    (0.5 * error - aim).backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), most)
    optimizer.step()
    return float(agreed.float().mean()), float(likelihood.detach()), float(error.detach())
