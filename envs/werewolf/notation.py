"""Werewolf in text: the platform's sentences for utterances, `VOTE Agent[03]` and the like for actions.

Both generations of the protocol are read and written: `INQUESTED` of 2016 is `IDENTIFIED` since 2017. An agreement is
with the latest utterance of a player today: `AGREE TALK day1 ID:2` counts, from 0, the utterances of that day that say
something (neither `Over` nor `Skip`). In the joint text of a step, the words of those who act stand side by side.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from asobiba.core import NotationError, Ruleset
from asobiba.envs.werewolf import sentences
from asobiba.envs.werewolf.layout import (
    ACTS,
    AGREE,
    BODYGUARD,
    COMINGOUT,
    DAY,
    DISAGREE,
    DIVINED,
    ESTIMATE,
    IDENTIFIED,
    INQUIRE,
    OVER,
    PHASES,
    REQUEST,
    ROLES,
    SEER,
    SKIP,
    SPECIES,
    TALK,
    VOTE,
    WEREWOLF,
    WHISPER,
    days,
)

# Called from Python word by word, which is not worth compiling.
arity, decode, encode = (getattr(f, "py_func", f) for f in (sentences.arity, sentences.decode, sentences.encode))
_VERBS = {name: act for act, name in enumerate(ACTS) if name}
_VERBS["INQUESTED"] = IDENTIFIED


def agent_text(seat: int) -> str:
    """A seat as the platform prints it: `Agent[01]` is seat 0."""
    return f"Agent[{seat + 1:02d}]"


def _seats(ruleset: Ruleset) -> int:
    return int(ruleset.dtype["left"].shape[0])


def _bad(text: str, why: str) -> NotationError:
    return NotationError(
        f"{text!r} is not a sentence: {why}; sentences look like: COMINGOUT Agent[01] SEER, DIVINED Agent[03] HUMAN, "
        "VOTE Agent[05], AGREE TALK day1 ID:2, Over"
    )


def _row_of_reference(state: np.void, text: str, kind: str, day: int, number: int) -> tuple[int, int]:
    # The speaker and turn of an utterance of today.
    name = "whispers" if kind == "WHISPER" else "talk"
    rows = state[name][: int(state["whisper_rows" if kind == "WHISPER" else "talk_rows"])]
    rows = _first_words(rows[rows[:, 0] == day])
    if day != int(state["day"]) or number >= len(rows):
        raise _bad(text, f"there is no utterance {number} of day {day} to refer to")
    return int(rows[number, 2]) - 1, int(rows[number, 1])


def _first_words(rows: np.ndarray) -> np.ndarray:
    # One row an utterance: its first word.
    new = [k for k in range(len(rows)) if k == 0 or (rows[k, :3] != rows[k - 1, :3]).any()]
    return rows[new]


def word_text(ruleset: Ruleset, state: np.void, speaker: int, act: int, target: int, value: int) -> str:
    """One simple sentence of a speaker, or the beginning of one with operands."""
    if act in (OVER, SKIP):
        return ACTS[act].capitalize()
    verb = ACTS[act]
    if act == IDENTIFIED and not int(ruleset.params["contest"][0]):
        verb = "INQUESTED"
    if act == COMINGOUT:
        return f"{verb} {agent_text(speaker)} {ROLES[value - 1]}"
    if act == ESTIMATE:
        return f"{verb} {agent_text(target)} {ROLES[value - 1]}"
    if act in (DIVINED, IDENTIFIED):
        return f"{verb} {agent_text(target)} {SPECIES[value - 1]}"
    if act in (AGREE, DISAGREE):
        whispering = int(state["phase"]) == WHISPER
        name, count = ("whispers", "whisper_rows") if whispering else ("talk", "talk_rows")
        rows = state[name][: int(state[count])]
        rows = _first_words(rows[rows[:, 0] == int(state["day"])])
        last = (state["whispered"] if whispering else state["said"])[target] if value == 0 else value
        found = np.flatnonzero((rows[:, 2] == target + 1) & (rows[:, 1] == last))
        number = int(found[-1]) if len(found) else 0
        return f"{verb} {'WHISPER' if whispering else 'TALK'} day{int(state['day'])} ID:{number}"
    if act == DAY:
        return f"{verb} {value}"
    return f"{verb} {agent_text(target)}" if arity(act) == 0 or act in (REQUEST, INQUIRE) else verb


def sentence_text(ruleset: Ruleset, state: np.void, speaker: int, words: Any) -> str:
    """A whole sentence from its words in prefix order: rows of (act, target + 1 or 0, value)."""
    words = list(words)

    def read() -> str:
        act, target, value = (int(x) for x in words.pop(0))
        text = word_text(ruleset, state, speaker, act, target - 1, value)
        operands = [f"({read()})" for _ in range(arity(act))]
        return " ".join([text, *operands])

    return read()


def action_to_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    """Text of an action (or of the actions of all seats that act).

    A word that an operator opens is followed by an ellipsis. Among the actions of all seats, one that is none, which the
    rules replace, is written `?`.
    """
    if np.ndim(action) > 0:
        acting = [(k, int(action[k])) for k in range(len(action)) if state["acting"][k]]
        known = range(ruleset.num_actions)
        return "; ".join(f"{agent_text(k)} {_one_text(ruleset, state, k, a) if a in known else '?'}" for k, a in acting)
    speakers = np.flatnonzero(state["acting"])
    return _one_text(ruleset, state, int(speakers[0]) if len(speakers) else 0, int(action))


def _one_text(ruleset: Ruleset, state: np.void, player: int, action: int) -> str:
    if not 0 <= action < ruleset.num_actions:
        raise NotationError(f"{action} is not an action of {ruleset}; expected 0 to {ruleset.num_actions - 1}")
    act, target, value = decode(_seats(ruleset), action)
    text = word_text(ruleset, state, player, act, target, value)
    return f"{text} ..." if arity(act) else text


_TOKEN = re.compile(r"\(|\)|[^\s()]+")


def parse_sentence(ruleset: Ruleset, state: np.void, speaker: int, text: str) -> list[int]:
    """The actions, one a word, that say this sentence of either protocol generation.

    Raises:
        NotationError: for text that is no sentence, or one that these rules cannot say (another subject than the
            speaker, `ANY`, a claim for somebody else, operators nested deeper than two or with more than two operands).
    """
    tokens = _TOKEN.findall(text)
    seats, players = _seats(ruleset), ruleset.num_players
    actions: list[int] = []

    def agent(token: str | None) -> int:
        found = re.fullmatch(r"Agent\[([0-9]{1,4})\]", token or "")
        if not found or not 1 <= int(found[1]) <= players:
            raise _bad(text, f"{token!r} is none of Agent[01] to {agent_text(players - 1)}")
        return int(found[1]) - 1

    def take() -> str | None:
        return tokens.pop(0) if tokens else None

    def choice(names: tuple[str, ...]) -> int:
        token = (take() or "").upper()
        if token not in names:
            raise _bad(text, f"expected one of {', '.join(names)}, not {token!r}")
        return names.index(token) + 1

    def sentence(depth: int) -> None:
        token = take()
        if token is not None and token.startswith("Agent["):
            if agent(token) != speaker:
                raise _bad(text, "its subject is somebody else than the speaker")
            token = take()
        verb = (token or "").upper()
        act = _VERBS.get(verb)
        if act is None or (act in (OVER, SKIP) and depth > 0):
            raise _bad(text, f"{token!r} is not a verb")
        if arity(act) and (depth > 1 or not int(ruleset.params["operators"][0])):
            raise _bad(text, "operators are nested too deeply, or this game has none")
        target, value = -1, 0
        if act == COMINGOUT:
            if agent(take()) != speaker:
                raise _bad(text, "only the speaker's own role can be claimed")
            value = choice(ROLES)
        elif act == ESTIMATE:
            target, value = agent(take()), choice(ROLES)
        elif act in (DIVINED, IDENTIFIED):
            target, value = agent(take()), choice(SPECIES)
        elif act in (AGREE, DISAGREE):
            kind, when, number = (take() or "").upper(), take() or "", take() or ""
            day, index = re.fullmatch(r"day([0-9]{1,3})", when), re.fullmatch(r"ID:([0-9]{1,5})", number)
            if kind not in ("TALK", "WHISPER") or day is None or index is None:
                raise _bad(text, "expected TALK or WHISPER, dayD and ID:I")
            target, turn = _row_of_reference(state, text, kind, int(day[1]), int(index[1]))
            whispering = int(state["phase"]) == WHISPER
            if (
                whispering != (kind == "WHISPER")
                or (state["whispered"] if whispering else state["said"])[target] != turn
            ):
                raise _bad(text, "one can only refer to the latest utterance of a player")
        elif act == DAY:
            day_text = take() or ""
            if not re.fullmatch("[0-9]{1,3}", day_text) or int(day_text) >= days(seats):
                raise _bad(text, f"{day_text!r} is not a day")
            value = int(day_text)
        elif act not in (OVER, SKIP) and (arity(act) == 0 or act in (REQUEST, INQUIRE)):
            target = agent(take())
        actions.append(encode(seats, act, target, value))
        for _ in range(arity(act)):
            if take() != "(":
                raise _bad(text, "an operand stands in parentheses")
            sentence(depth + 1)
            if take() != ")":
                raise _bad(text, "a parenthesis is not closed")

    sentence(0)
    if tokens:
        raise _bad(text, f"{' '.join(tokens)!r} is left over")
    return [int(action) for action in actions]


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> Any:
    """The action that a text names; a joint text (`Agent[01] Over; Agent[02] Skip`) gives the array of all seats.

    Raises:
        NotationError: for text that names no action.
    """
    parts = [part.strip() for part in text.split(";")]
    if re.match(r"Agent\[[0-9]+\] ", parts[0]):
        actions = np.zeros(_seats(ruleset), np.int64)
        for part in parts:
            name, _, rest = part.partition(" ")
            found = re.fullmatch(r"Agent\[([0-9]{1,4})\]", name)
            if not found or not 1 <= int(found[1]) <= ruleset.num_players:
                raise _bad(part, f"{name!r} is nobody")
            actions[int(found[1]) - 1] = _one_action(ruleset, state, int(found[1]) - 1, rest)
        return actions
    acting = np.flatnonzero(state["acting"])
    return _one_action(ruleset, state, int(acting[0]) if len(acting) else 0, text)


def _one_action(ruleset: Ruleset, state: np.void, player: int, text: str) -> int:
    head = text.strip()
    if head.endswith("..."):  # a word alone: its operands follow as actions of their own
        head = head[:-3].strip()
        verb = _VERBS.get(head.split(" ")[0].upper(), 0) if head else 0
        if arity(verb):
            return parse_sentence(ruleset, state, player, head + " (VOTE Agent[01])" * arity(verb))[0]
    actions = parse_sentence(ruleset, state, player, head)
    if len(actions) > 1:
        raise _bad(text, "it has several words; each is an action")
    return actions[0]


_PLAIN = {
    "OVER": "has nothing more to say", "SKIP": "keeps silent for now", "COMINGOUT": "I am {value}",
    "ESTIMATE": "I think {target} is {value}", "DIVINED": "I divined {target}: {value}",
    "IDENTIFIED": "the executed {target} was {value}", "GUARDED": "I guarded {target}", "VOTE": "I will vote for {target}",
    "ATTACK": "let us attack {target}", "AGREE": "I agree with {target}", "DISAGREE": "I disagree with {target}",
    "DIVINATION": "I will divine {target}", "GUARD": "I will guard {target}", "VOTED": "I voted for {target}",
    "ATTACKED": "I attacked {target}", "REQUEST": "I ask {target} that", "INQUIRE": "I ask {target} whether",
    "BECAUSE": "because", "NOT": "it is not so that", "AND": "both", "OR": "at least one of", "XOR": "one of",
    "DAY": "on day {value}",
}  # fmt: skip


def plain_words(act: int, target: int, value: int) -> str:
    """One word of a sentence in English; `target` is a seat or -1."""
    shown = str(value)
    if act in (DIVINED, IDENTIFIED):
        shown = SPECIES[value - 1].lower()
    elif act in (COMINGOUT, ESTIMATE):
        one = "a" if ROLES[value - 1] in ("VILLAGER", "WEREWOLF") else "the"
        shown = f"{one} {ROLES[value - 1].lower()}"
    return _PLAIN[ACTS[act]].format(target=f"agent {target + 1}", value=shown)


def plain_talk(state: np.void, day: int | None = None, whispers: bool = False) -> list[str]:
    """Transcript of the talk, line by line in English: `agent 3: I divined agent 7: werewolf`."""
    name, count = ("whispers", "whisper_rows") if whispers else ("talk", "talk_rows")
    lines: list[str] = []
    before = None
    for row in state[name][: int(state[count])]:
        if day is not None and int(row[0]) != day:
            continue
        said = plain_words(int(row[3]), int(row[4]) - 1, int(row[5]))
        if before is not None and (row[:3] == before).all() and lines:
            lines[-1] += f", {said}"
        else:
            lines.append(f"agent {int(row[2])}: {said}")
        before = row[:3]
    return lines


def plain_story(state: np.void, day: int) -> list[str]:
    """A day in English: the talk, the votes, the execution, the wolves' victim."""
    lines = plain_talk(state, day)
    if day < len(state["executed"]):
        gone, victim = int(state["executed"][day]), int(state["victim"][day])
        if gone:
            ballots = [ballot for ballot in state["votes"][day] if ballot.any()]
            votes = int((ballots[-1] == gone).sum()) if ballots else 0
            lines.append(f"agent {gone} is executed, with {votes} vote{'' if votes == 1 else 's'}")
        if victim:
            lines.append(f"agent {victim} is killed in the night")
    return lines


def status_text(ruleset: Ruleset, view: np.void, seat: int) -> str:
    """The present question to a player, and the number of utterances that he has left."""
    phase, day = int(view["phase"]), int(view["day"])
    if phase in (TALK, WHISPER):
        contest = bool(ruleset.params["contest"][0])
        if contest:
            left = int(view["remaining" if phase == TALK else "whisper_remaining"][seat])
        else:
            rounds = int(ruleset.params["max_turns" if phase == TALK else "max_whisper_rounds"][0])
            left = rounds - int(view["turn" if phase == TALK else "whisper_round"])
        return f"day {day}, {'talk' if phase == TALK else 'whispers'}, {left} utterance{'' if left == 1 else 's'} left"
    if phase == VOTE:
        return f"day {day}, vote" + (" again: there was a tie" if view["ballot"] else "")
    acts = {SEER: "whom do you divine?", BODYGUARD: "whom do you guard?", WEREWOLF: "whom do you attack?"}
    return f"night {day}, {acts.get(int(view['role'][seat]), 'asleep')}"


def end_text(ruleset: Ruleset, state: np.void, seat: int) -> str:
    """The winners, and whether a player is among them."""
    won = state["rewards"][: ruleset.num_players] > 0
    wolves = bool((won & (state["role"][: ruleset.num_players] == WEREWOLF)).any())
    role = ROLES[int(state["role"][seat]) - 1].lower()
    winners = "the werewolves and the possessed win" if wolves else "the villagers win"
    return f"{winners}; you, the {role}, {'win' if won[seat] else 'lose'}"


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The village as text: the living players, their claims, their known roles, and the day's talk."""
    day, phase = int(state["day"]), PHASES[int(state["phase"])]
    lines = [f"day {day}, {'over' if state['terminated'] else phase}"]
    for k in range(ruleset.num_players):
        fate = "alive"
        for d in range(days(_seats(ruleset))):
            if int(state["executed"][d]) == k + 1:
                fate = f"executed on day {d}"
            if int(state["victim"][d]) == k + 1:
                fate = f"killed in night {d}"
        role = ROLES[int(state["role"][k]) - 1].lower() if state["role"][k] else "?"
        claim = f", claims {ROLES[int(state['claimed'][k]) - 1].lower()}" if state["claimed"][k] else ""
        lines.append(f"  agent {k + 1:2d}  {role:10s}  {fate}{claim}")
    said = plain_talk(state, day)
    return "\n".join([*lines, *(f"  {line}" for line in said[-8:])])
