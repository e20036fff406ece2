"""Games of an evaluation as data sets of Minari, one for each seat of the agent. Needs the extra `record`."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.arena.evaluation import Groups
from asobiba.arena.match import LiveGame
from asobiba.core import Ruleset
from asobiba.core.errors import MissingExtra
from asobiba.core.states import observation

__all__ = ["record_groups"]


def record_groups(name: str, ruleset: Ruleset, groups: Groups, seed: int, agent: str) -> list[str]:
    """Writes the agent's decisions in these games as the data sets `NAME/SEAT-v0`, and returns their names.

    An episode has the agent's observations before each of its decisions and after the game, its actions, and the sum of its
    rewards until its next decision; `infos["action_mask"]` holds the masks of discrete actions. Games that end before its
    first decision are left out.

    Args:
        name: such as `animal_shogi/one_ply`.
        ruleset: as the games were played, with their openings.
        groups: of `asobiba.arena.evaluation.play_groups(..., record=True)`.
        seed: of the first deal.
        agent: the agent's name, which is kept as that of the algorithm.

    Raises:
        MissingExtra: if Minari is not installed.
    """
    try:
        import minari
        from minari.data_collector import EpisodeBuffer
    except ImportError:
        raise MissingExtra("minari", "record") from None
    written, live = [], LiveGame(ruleset)
    for seat, label in enumerate(ruleset.players):
        episodes: list[EpisodeBuffer] = []
        for number, group in enumerate(groups):
            assert group[seat].actions is not None
            episode = _episode(live, seed + number, seat, group[seat].actions)
            if len(episode["actions"]):
                episodes.append(EpisodeBuffer(id=len(episodes), seed=seed + number, **episode))
        written.append(f"{name}/{label}-v0")
        minari.create_dataset_from_buffers(
            written[-1], episodes, observation_space=ruleset.observation_space, action_space=ruleset.action_space,
            algorithm_name=agent, author="asobiba", requirements=["asobiba"], description=f"{ruleset}: {agent} as {label}",
        )  # fmt: skip
    return written


def _episode(live: LiveGame, deal: int, seat: int, actions: Any) -> dict[str, Any]:
    ruleset = live.ruleset
    live.begin(deal)
    seen, masks, chosen, gains = [], [], [], []

    def look() -> None:
        seen.append(observation(ruleset, live.view(seat), seat))
        masks.append(live.legal(seat))

    for action in actions:
        if seat in live.movers:
            look()
            chosen.append(np.array(action[seat] if ruleset.simultaneous else action))
            gains.append(0.0)
        live.play(action)
        if gains:  # what comes before its first decision belongs to no action
            gains[-1] += float(live.states["rewards"][0, seat])
    look()
    ends = np.zeros(len(chosen), bool)
    ends[-1:] = True
    truncated = bool(live.states["truncated"][0])
    return {
        "observations": np.stack(seen),
        "actions": np.array(chosen),
        "rewards": np.array(gains),
        "terminations": ends & (not truncated),
        "truncations": ends & truncated,
        "infos": {"action_mask": np.stack(masks)} if ruleset.discrete else {},
    }
