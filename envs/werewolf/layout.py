"""Villages, phases and sentences as numbers, and the arrays that the game's parameters make of them."""

from __future__ import annotations

import numpy as np

from asobiba.core import GameParameterError, Layout

# Roles; 0 stands for "not known".
VILLAGER, SEER, MEDIUM, BODYGUARD, POSSESSED, WEREWOLF = 1, 2, 3, 4, 5, 6
ROLES = ("VILLAGER", "SEER", "MEDIUM", "BODYGUARD", "POSSESSED", "WEREWOLF")
HUMAN, WOLF = 1, 2
SPECIES = ("HUMAN", "WEREWOLF")
VILLAGERS, WOLVES = 0, 1
"""The two teams; the possessed belongs to the second, though he is human."""

WAIT, TALK, WHISPER, VOTE, NIGHT = 0, 1, 2, 3, 4
PHASES = ("wait", "talk", "whisper", "vote", "night")

VILLAGES = {
    5: (2, 1, 0, 0, 1, 1),
    6: (3, 1, 0, 0, 1, 1),
    7: (4, 1, 0, 0, 0, 2),
    8: (4, 1, 1, 0, 0, 2),
    9: (5, 1, 1, 0, 0, 2),
    10: (4, 1, 1, 1, 1, 2),
    11: (5, 1, 1, 1, 1, 2),
    12: (5, 1, 1, 1, 1, 3),
    13: (6, 1, 1, 1, 1, 3),
    14: (7, 1, 1, 1, 1, 3),
    15: (8, 1, 1, 1, 1, 3),
}
"""The platform's role table: players -> how many of each of `ROLES`."""

# Acts: the verbs of the protocol. 0 stands for nothing.
(OVER, SKIP, COMINGOUT, ESTIMATE, DIVINED, IDENTIFIED, GUARDED, VOTING, ATTACK, AGREE, DISAGREE, DIVINATION, GUARD,
 VOTED, ATTACKED, REQUEST, INQUIRE, BECAUSE, NOT, AND, OR, XOR, DAY) = range(1, 24)  # fmt: skip
ACTS = (
    "", "OVER", "SKIP", "COMINGOUT", "ESTIMATE", "DIVINED", "IDENTIFIED", "GUARDED", "VOTE", "ATTACK", "AGREE",
    "DISAGREE", "DIVINATION", "GUARD", "VOTED", "ATTACKED", "REQUEST", "INQUIRE", "BECAUSE", "NOT", "AND", "OR", "XOR",
    "DAY",
)  # fmt: skip

# The action numbers: Over, Skip, six claims, then blocks of one action a seat, then the operators.
CLAIMS, BLOCKS = 2, 8
BLOCK_ACTS = np.array(
    [ESTIMATE] * 6
    + [DIVINED] * 2
    + [IDENTIFIED] * 2
    + [GUARDED, VOTING, ATTACK, AGREE, DISAGREE, DIVINATION, GUARD, VOTED, ATTACKED, REQUEST, INQUIRE],
    np.int8,
)
BLOCK_VALUES = np.array([1, 2, 3, 4, 5, 6, 1, 2, 1, 2, *([0] * 11)], np.int8)
"""The role or species of each block."""
SIMPLE_BLOCKS = 19
BLOCK_OF = np.array([0, 0, 0, 0, 0, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 0, 0, 0, 0, 0, 0], np.int8)
"""The first block of each act."""
WORDS = 7
"""Words of the longest sentence: an operator over two operators over two simple sentences each."""

CLASSIC, CONTEST = 0, 1
GENERATIONS = {"2016": CLASSIC, "0.6": CONTEST}
MOST_TALK = 10
"""The platform's greatest number of utterances of a player in a day (and of rounds in 2016)."""


def number_of_actions(seats: int, operators: bool) -> int:
    """Number of actions with this many seats in the arrays."""
    simple = BLOCKS + SIMPLE_BLOCKS * seats
    return simple + 2 * seats + 5 + days(seats) if operators else simple


def days(seats: int) -> int:
    """Largest number of days, day 0 included: three must be alive when a day begins, and one is executed daily."""
    return seats - 1


def talk_capacity(seats: int) -> int:
    """Utterances of the longest game: everybody alive speaks every time that he may."""
    return MOST_TALK * (seats + sum(range(3, seats + 1)))


def whisper_capacity(seats: int) -> int:
    """Ten whispers for every day that a wolf can be alive, whatever village of up to this many players it is."""
    return MOST_TALK * max(_wolf_days(n, roles[-1]) for n, roles in VILLAGES.items() if n <= seats)


def _wolf_days(players: int, wolves: int) -> int:
    total, alive = wolves, players
    while alive >= 3:
        while alive <= 2 * wolves:
            wolves -= 1
        total += wolves
        alive -= 1
    return total


def state_fields(seats: int) -> list[tuple]:
    """The fields of a state after the header, for arrays of this many seats; the game's docstring explains them."""
    n, d = seats, days(seats)
    return [
        ("phase", np.int8),
        ("day", np.int8),
        ("turn", np.int8),
        ("whisper_turn", np.int8),
        ("whisper_round", np.int8),
        ("ballot", np.int8),
        ("loud", np.uint8),
        ("talking", np.uint8),
        ("talk_rows", np.int16),
        ("whisper_rows", np.int16),
        ("cursor", np.int8),
        ("order", np.int8, (n,)),
        ("role", np.int8, (n,)),
        ("team", np.int8, (n,)),
        ("over", np.uint8, (n,)),
        ("skips", np.uint8, (n,)),
        ("remaining", np.int8, (n,)),
        ("said", np.int8, (n,)),
        ("whisper_over", np.uint8, (n,)),
        ("whisper_skips", np.uint8, (n,)),
        ("whisper_remaining", np.int8, (n,)),
        ("whispered", np.int8, (n,)),
        ("claimed", np.int8, (n,)),
        ("declared", np.int8, (n,)),
        ("reported", np.int8, (n, n)),
        ("identified", np.int8, (n, n)),
        ("words", np.int8, (n,)),
        ("draft", np.int8, (n, WORDS, 3)),
        ("executed", np.int8, (d,)),
        ("victim", np.int8, (d,)),
        ("attack", np.int8, (d,)),
        ("divine", np.int8, (d,)),
        ("divine_result", np.int8, (d,)),
        ("medium_result", np.int8, (d,)),
        ("guard", np.int8, (d,)),
        ("win_reward", np.float32, (n,)),
        ("survival_reward", np.float32, (n,)),
        ("execution_reward", np.float32, (n,)),
        ("votes", np.int8, (d, 2, n)),
        ("attack_votes", np.int8, (d, 2, n)),
        ("talk", np.int8, (talk_capacity(n), 6)),
        ("whispers", np.int8, (whisper_capacity(n), 6)),
    ]


def observation_channels(seats: int) -> dict[str, tuple[int, ...]]:
    """The channels of the observation, in the order in which `observe` writes them."""
    n, d = seats, days(seats)
    return {
        "seat": (n,),
        "players": (n,),
        "alive": (n,),
        "phase": (len(PHASES),),
        "time": (3,),
        "role": (len(ROLES),),
        "known_roles": (n, len(ROLES)),
        "known_species": (n, 2),
        "claims": (n, len(ROLES)),
        "reports": (n, n, 2),
        "identifications": (n, n, 2),
        "declared": (n, n),
        "over": (n,),
        "remaining": (n,),
        "draft": (WORDS, 3),
        "executed": (d,),
        "victims": (d,),
        "divined": (d, 2),
        "medium": (d,),
        "guarded": (d,),
        "attacks": (d,),
        "votes": (d, 2, n),
        "attack_votes": (d, 2, n),
        "talk": (talk_capacity(n), 6),
        "whispers": (whisper_capacity(n), 6),
    }


def parameter_values(
    players: int, rules: str, talk: str, max_talk: int, operators: bool, deal: str, seats: int,
    survival: float, execution: float,
) -> dict:  # fmt: skip
    """The parameter record's values. Raises `GameParameterError` for values that make no village."""
    if players not in VILLAGES:
        raise GameParameterError(
            f"players is {players!r}; the villages have {min(VILLAGES)} to {max(VILLAGES)} players"
        )
    if seats not in VILLAGES or seats < players:
        raise GameParameterError(f"seats is {seats!r}; expected {players} (the players) to {max(VILLAGES)}")
    if rules not in GENERATIONS:
        raise GameParameterError(f"rules is {rules!r}; expected one of: {', '.join(GENERATIONS)}")
    if talk not in ("round", "turn"):
        raise GameParameterError(f"talk is {talk!r}; expected round (all decide at once) or turn (one after the other)")
    if not 1 <= max_talk <= MOST_TALK:
        raise GameParameterError(f"max_talk is {max_talk!r}; expected 1 to {MOST_TALK}")
    for name, value in (("survival", survival), ("execution", execution)):
        if not 0 <= value <= 1:
            raise GameParameterError(f"{name} is {value!r}; a reward term lies between 0 (none) and 1")
    contest = GENERATIONS[rules] == CONTEST
    return {
        "players": np.int32(players),
        "roles": np.array((0, *VILLAGES[players]), np.int32),
        "contest": np.int32(contest),
        "one_by_one": np.int32(talk == "turn"),
        "max_talk": np.int32(max_talk),
        "max_turns": np.int32(2 * max_talk if contest else max_talk),
        "max_whisper": np.int32(MOST_TALK),
        "max_whisper_rounds": np.int32(2 * MOST_TALK if contest else max_talk),
        "max_skip": np.int32(2),
        "revotes": np.int32(1 if contest else 0),
        "operators": np.int32(operators),
        "dealt": _dealt(deal, players, seats),
        "survival": np.float32(survival),
        "execution": np.float32(execution),
    }


_LETTERS = {"v": VILLAGER, "s": SEER, "m": MEDIUM, "b": BODYGUARD, "p": POSSESSED, "w": WEREWOLF, "?": 0}


def _dealt(deal: str, players: int, seats: int) -> np.ndarray:
    dealt = np.zeros(seats, np.int8)
    if not deal:
        return dealt
    if len(deal) != players or not set(deal) <= set(_LETTERS):
        raise GameParameterError(
            f"deal is {deal!r}; expected {players} letters, one a seat, of {''.join(_LETTERS)} (? is drawn)"
        )
    dealt[:players] = [_LETTERS[letter] for letter in deal]
    for role, (name, most) in enumerate(zip(ROLES, VILLAGES[players], strict=True), 1):
        if (count := int((dealt == role).sum())) > most:
            raise GameParameterError(f"deal is {deal!r}: {count} x {name}, but a village of {players} has {most}")
    return dealt


def longest(seats: int, values: dict) -> int:
    """A bound on the steps of a game."""
    speakers = seats if values["one_by_one"] else 1
    whisperers = 3 if values["one_by_one"] else 1
    words = WORDS if values["operators"] else 1
    talk = int(values["max_turns"]) * speakers * words
    sessions = 1 if values["contest"] else int(values["max_turns"])
    whisper = sessions * int(values["max_whisper_rounds"]) * whisperers * words
    return days(seats) * (talk + whisper + 2 * (1 + int(values["revotes"])))


def village(
    players: int = 15,
    rules: str = "2016",
    talk: str = "round",
    max_talk: int = 10,
    operators: bool = False,
    deal: str = "",
    seats: int = 15,
    survival: float = 0.0,
    execution: float = 0.0,
) -> Layout:
    values = parameter_values(players, rules, talk, max_talk, operators, deal, seats, survival, execution)
    most = 1 + days(seats) * (survival + execution)
    return Layout(
        state=state_fields(seats),
        actions=number_of_actions(seats, operators),
        observation=observation_channels(seats),
        observation_high=127,
        max_steps=longest(seats, values),
        parameters=values,
        seats=seats,
        players=tuple(f"agent_{k + 1}" for k in range(players)),
        info={name: f"{name}_reward" for name in ("win", "survival", "execution")},
        return_range=(-1.0 - days(seats) * execution, most),
    )
