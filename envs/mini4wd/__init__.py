"""Mini 4WD."""

from asobiba.api import expose
from asobiba.core import Game
from asobiba.envs.mini4wd import discrete, layout, position, race, rules

GAME = Game(
    name="mini4wd",
    version=0,
    title="Mini 4WD",
    layout=layout.time_attack,
    rules=rules,
    players=("driver",),
    information="hidden",
    chance=True,
    utility="single_agent",
    reward_range=(-20.0, 20.0),
    notation=None,
    draw=None,
    evidence="published lap times, deceleration, jump lengths and corner speeds",
)
DISCRETE = Game(
    name="mini4wd_discrete",
    version=0,
    title="Mini 4WD, discrete levels",
    layout=layout.discrete,
    rules=discrete,
    players=("driver",),
    information="hidden",
    chance=True,
    utility="single_agent",
    reward_range=(-20.0, 20.0),
    evidence=GAME.evidence,
)
POSITION = Game(
    name="mini4wd_position",
    version=0,
    title="Mini 4WD, position match",
    layout=layout.position,
    rules=position,
    players=("driver",),
    information="hidden",
    chance=True,
    utility="single_agent",
    reward_range=(-20.0, 20.0),
    evidence=GAME.evidence,
)
RACE = Game(
    name="mini4wd_race",
    version=0,
    title="Mini 4WD, race of two",
    layout=layout.race,
    rules=race,
    information="hidden",
    chance=True,
    turns="simultaneous",
    evidence=GAME.evidence,
)
env, raw_env, parallel_env = expose(GAME)
