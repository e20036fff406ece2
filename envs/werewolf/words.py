"""The words of the village, in plain English and Japanese: for actions, places to click, questions and the log."""

from __future__ import annotations

from collections.abc import Sequence

from asobiba.api.scene import ACTION, ASKED, ENDING, LOG, LOG_PARTS, SPOT, Entries, begin_words, drawing, number, word
from asobiba.envs.werewolf.layout import (
    ACTS,
    AND,
    ATTACK,
    BECAUSE,
    BLOCK_ACTS,
    BLOCK_VALUES,
    BLOCKS,
    BODYGUARD,
    CLAIMS,
    COMINGOUT,
    DAY,
    DIVINATION,
    DIVINED,
    ESTIMATE,
    IDENTIFIED,
    INQUIRE,
    REQUEST,
    SEER,
    SIMPLE_BLOCKS,
    SKIP,
    TALK,
    VOTE,
    VOTING,
    WAIT,
    WEREWOLF,
    WHISPER,
    WOLVES,
    XOR,
)

TEXTS, JAPANESE = Entries(), Entries()
"""The texts in both languages, under the same numbers."""


def _say(english: str, japanese: str) -> int:
    TEXTS.append(english)
    JAPANESE.append(japanese)
    return len(TEXTS) - 1


def _say_all(pairs: Sequence[tuple[str, str]]) -> int:
    """Enters texts one after another; the number of the first."""
    first = len(TEXTS)
    for english, japanese in pairs:
        _say(english, japanese)
    return first


_NAMES = (
    ("villager", "村人"), ("seer", "占い師"), ("medium", "霊媒師"), ("bodyguard", "騎士"), ("possessed", "狂人"),
    ("werewolf", "人狼"),
)  # fmt: skip
ROLES_AT = _say_all(_NAMES)
_THE_ROLES_AT = _say_all([(("a " if k in (0, 5) else "the ") + a, b) for k, (a, b) in enumerate(_NAMES)])
_SPECIES_AT = _say_all([("human", "人間"), ("a werewolf", "人狼")])
AGENT, NUMBER = _say("agent ", ""), _say("", "番")
_LEFT = {
    "OVER": ("I have nothing more to say.", "もう話すことはありません。"),
    "SKIP": ("I will wait and see.", "様子を見ます。"),
    "COMINGOUT": ("I am ", "私は"), "ESTIMATE": ("I think ", ""), "DIVINED": ("I divined ", "占いの結果、"),
    "IDENTIFIED": ("Dead ", "霊媒の結果、"), "GUARDED": ("I guarded ", ""), "VOTE": ("I will vote for ", ""),
    "ATTACK": ("Let us attack ", ""), "AGREE": ("I agree with ", ""), "DISAGREE": ("I disagree with ", ""),
    "DIVINATION": ("I will divine ", ""), "GUARD": ("I will guard ", ""), "VOTED": ("I voted for ", ""),
    "ATTACKED": ("I attacked ", ""), "REQUEST": ("I ask ", ""), "INQUIRE": ("I ask ", ""),
    "BECAUSE": ("Because “", "「"), "NOT": ("It is not so that “", "「"), "AND": ("Both “", "「"), "OR": ("“", "「"),
    "XOR": ("Only one of “", "「"), "DAY": ("On day ", ""),
}  # fmt: skip
_MIDDLE = {
    "ESTIMATE": (" is ", "は"), "DIVINED": (": ", "は"), "IDENTIFIED": (" was ", "は"),
    "REQUEST": (" for this: “", "にお願いします：「"), "INQUIRE": (" whether “", "に聞きます：「"),
    "BECAUSE": ("”, “", "」なので「"), "AND": ("” and “", "」かつ「"), "OR": ("” or “", "」または「"),
    "XOR": ("” and “", "」か「"), "DAY": (": “", "日目のこと：「"),
}  # fmt: skip
_RIGHT = {
    "COMINGOUT": (".", "です。"), "ESTIMATE": (".", "だと思います。"), "DIVINED": (".", "でした。"), "IDENTIFIED": (".", "でした。"),
    "GUARDED": (".", "を護衛しました。"), "VOTE": (".", "に投票します。"), "ATTACK": (".", "を襲撃しましょう。"), "AGREE": (".", "に賛成です。"),
    "DISAGREE": (".", "に反対です。"), "DIVINATION": (".", "を占います。"), "GUARD": (".", "を護衛します。"), "VOTED": (".", "に投票しました。"),
    "ATTACKED": (".", "を襲撃しました。"), "REQUEST": ("”", "」"), "INQUIRE": ("”", "」"), "BECAUSE": ("”", "」"),
    "NOT": ("”", "」ということはありません"), "AND": ("”", "」"), "OR": ("”", "」"), "XOR": ("”", "」の一方だけ"), "DAY": ("”", "」"),
}  # fmt: skip
_LEFT_AT, _MIDDLE_AT, _RIGHT_AT = (
    _say_all([table.get(act, ("", "")) for act in ACTS]) for table in (_LEFT, _MIDDLE, _RIGHT)
)
ELLIPSIS, _SPEAKS, _NEWLINE, _COMMA, _STOP = (
    _say("…", "…"), _say(": ", "："), _say("\n", "\n"), _say(", ", "、"), _say(".", "。"),
)  # fmt: skip
_VOTES_FOR, _ATTACKS, _DIVINES, _GUARDS = (
    _say("vote for ", "投票："), _say("attack ", "襲撃："), _say("divine ", "占い："), _say("guard ", "護衛："),
)  # fmt: skip
_NOBODY = _say("nobody", "誰も選ばない")
_DAY_IS, _DAY_ENDS = _say("Day ", ""), _say("", "日目")
PHASES_AT = _say_all(
    [
        (", the others act", "、ほかの人の番"),
        (", talk", "、会話"),
        (", whispers", "、囁き"),
        (", vote", "、投票"),
        (", night", "、夜"),
    ]
)
_LEFT_TO_SAY, _UTTERANCES, _AGAIN = (
    _say(", ", "、あと"), _say(" utterances left", "回話せます"), _say(" again: there was a tie", "（同数のため再投票）"),
)  # fmt: skip
_WHOM_AT = _say_all(
    [
        (", whom do you divine?", "、誰を占いますか"),
        (", whom do you guard?", "、誰を護衛しますか"),
        (", whom do you attack?", "、誰を襲撃しますか"),
    ]
)
_WON_AT = _say_all(
    [
        ("the villagers have won", "村人側の勝ち"),
        ("the werewolves have won", "人狼側の勝ち"),
        ("the game is over", "終了"),
    ]
)
_WHISPERS, _VOTES, _FOR = _say(" whispers: ", "の囁き："), _say("Votes: ", "投票："), _say(" → ", " → ")
_EXECUTED, _WITH, _BALLOTS, _KILLED = (
    _say(" is executed", "が処刑されました"), _say(" (votes: ", "（票数："), _say(")", "）"),
    _say(" is killed in the night", "が夜に襲撃されました"),
)  # fmt: skip
_DIVINES_NOW, _GUARDS_NOW, _MEDIUM_SEES, _WAS = (
    _say("The seer divines ", "占い師の占い："), _say("The bodyguard guards ", "騎士の護衛："), _say("The medium: ", "霊媒師："),
    _say(" was ", "は"),
)  # fmt: skip
EXECUTED_ON, THE_DAY_ENDS, KILLED_IN, NIGHT_ENDS = (
    _say("executed, day ", "処刑："), _say("", "日目"), _say("killed, night ", "襲撃："), _say("", "日目の夜"),
)  # fmt: skip
IS_AT = _say_all([("human", "人間"), ("werewolf", "人狼")])
CLAIMS_TO_BE, DOT, WHISPERED = _say("claims ", "自称 "), _say(" · ", "・"), _say("whispers: ", "囁き：")
YOU_ARE, YOU_END = _say("You: ", "あなた："), _say("", "")
VOTES_OF, VOTES_OF_ENDS = _say("Arrows: the votes of day ", "矢印は"), _say("", "日目の投票")

VERBS_AT, _CLAIM_VERBS, _BLOCK_VERBS, _OPERATOR_VERBS, _DAY_VERB, _DAYS_AT = 100, 102, 108, 140, 146, 200
"""Spots: players by their seats, then what one says, then days."""


@drawing
def agent(out, seat):
    """A player by his number."""
    word(out, AGENT)
    number(out, seat + 1)
    word(out, NUMBER)


@drawing
def opening(out, act, target, value):
    """A word of a sentence, and how it goes on: a whole simple sentence, or what stands before an operand."""
    word(out, _LEFT_AT + act)
    if act == COMINGOUT:
        word(out, _THE_ROLES_AT + value - 1)
    elif act == DAY:
        number(out, value)
        word(out, _MIDDLE_AT + act)
    elif act > SKIP and act <= INQUIRE:
        if target < 0:
            word(out, ELLIPSIS)
        else:
            agent(out, target)
        word(out, _MIDDLE_AT + act)
        if act == ESTIMATE:
            word(out, _THE_ROLES_AT + value - 1)
        elif act in (DIVINED, IDENTIFIED):
            word(out, _SPECIES_AT + value - 1)
    if act < REQUEST:
        word(out, _RIGHT_AT + act)


@drawing
def _operands(act):
    return 0 if act < REQUEST else 2 if act == BECAUSE or (act >= AND and act <= XOR) else 1


@drawing
def utterance(table, first, rows, out):
    """A whole utterance of the talk, from its first row; the row behind it."""
    outer, outer_left, inner, inner_left = 0, 0, 0, 0
    k = first
    while (
        k < rows
        and table[k, 0] == table[first, 0]
        and table[k, 1] == table[first, 1]
        and table[k, 2] == table[first, 2]
    ):
        act = int(table[k, 3])
        opening(out, act, int(table[k, 4]) - 1, int(table[k, 5]))
        k += 1
        count = _operands(act)
        if count > 0:
            if outer == 0:
                outer, outer_left = act, count
            else:
                inner, inner_left = act, count
            continue
        if inner != 0:
            inner_left -= 1
            word(out, (_MIDDLE_AT if inner_left > 0 else _RIGHT_AT) + inner)
            if inner_left > 0:
                continue
            inner = 0
        if outer != 0:
            outer_left -= 1
            word(out, (_MIDDLE_AT if outer_left > 0 else _RIGHT_AT) + outer)
    return k


@drawing
def _verb(action, seats):
    """The spot of an action's verb, and its target: a seat, a day (from `_DAYS_AT` on) or -1."""
    if action < CLAIMS:
        return VERBS_AT + action, -1
    if action < BLOCKS:
        return _CLAIM_VERBS + action - CLAIMS, -1
    block = (action - BLOCKS) // seats
    if block < SIMPLE_BLOCKS + 2:
        return _BLOCK_VERBS + block, (action - BLOCKS) % seats
    rest = action - BLOCKS - (SIMPLE_BLOCKS + 2) * seats
    if rest < 5:
        return _OPERATOR_VERBS + rest, -1
    return _DAY_VERB, _DAYS_AT + rest - 5


@drawing
def spots(s, p, d, action, out):
    """The spots to click for an action: verb and player; in a vote and at night the player alone."""
    verb, target = _verb(int(action), s.left.shape[0])
    talks = s.phase in (TALK, WHISPER)
    if target < 0:
        out[0, 0], out[1, 0] = 1, verb
    elif talks:
        out[0, 0], out[1, 0], out[2, 0] = 2, verb, target
    else:
        out[0, 0], out[1, 0] = 1, target


@drawing
def _spoken(s, verb, target, out):
    """The sentence of a verb's spot; without a target it has an ellipsis."""
    if verb < _CLAIM_VERBS:
        if s.phase in (TALK, WHISPER):
            opening(out, verb - VERBS_AT + 1, -1, 0)
        else:
            word(out, _NOBODY)
    elif verb < _BLOCK_VERBS:
        opening(out, COMINGOUT, -1, verb - _CLAIM_VERBS + 1)
    elif verb < _OPERATOR_VERBS:
        opening(out, int(BLOCK_ACTS[verb - _BLOCK_VERBS]), target, int(BLOCK_VALUES[verb - _BLOCK_VERBS]))
    elif verb < _DAY_VERB:
        opening(out, BECAUSE + verb - _OPERATOR_VERBS, -1, 0)
    elif target >= _DAYS_AT:
        opening(out, DAY, -1, target - _DAYS_AT)
    else:
        word(out, _LEFT_AT + DAY)
        word(out, ELLIPSIS)


@drawing
def _action(s, action, out):
    """A sentence; in a vote and at night what is chosen."""
    verb, target = _verb(action, s.left.shape[0])
    if target < 0 or s.phase in (TALK, WHISPER):
        _spoken(s, verb, target, out)
        return
    act = int(BLOCK_ACTS[verb - _BLOCK_VERBS])
    word(
        out, _VOTES_FOR if act == VOTING else _ATTACKS if act == ATTACK else _DIVINES if act == DIVINATION else _GUARDS
    )
    agent(out, target)


@drawing
def moment(s, p, out):
    """The day and what happens."""
    word(out, _DAY_IS)
    number(out, s.day)
    word(out, _DAY_ENDS)
    word(out, PHASES_AT + int(s.phase))


@drawing
def ending(s, out):
    """The side that has won."""
    if s.terminated == 0:
        word(out, _WON_AT + 2)
        return
    wolves = False
    for k in range(s.left.shape[0]):
        wolves = wolves or (s.win_reward[k] > 0 and s.team[k] == WOLVES)
    word(out, _WON_AT + (1 if wolves else 0))


@drawing
def _asked(s, p, seat, out):
    """The question to a player, and how many utterances are left."""
    role = int(s.role[seat]) if seat >= 0 else 0
    moment(s, p, out)
    if s.phase in (TALK, WHISPER):
        if seat < 0:
            return
        talks = s.phase == TALK
        if p.contest != 0:
            left = s.remaining[seat] if talks else s.whisper_remaining[seat]
        else:
            left = p.max_turns - s.turn if talks else p.max_whisper_rounds - s.whisper_round
        word(out, _LEFT_TO_SAY)
        number(out, left)
        word(out, _UTTERANCES)
    elif s.phase == VOTE and s.ballot != 0:
        word(out, _AGAIN)
    elif s.phase != WAIT and s.phase != VOTE:
        if role == SEER:
            word(out, _WHOM_AT)
        elif role == BODYGUARD:
            word(out, _WHOM_AT + 1)
        elif role == WEREWOLF:
            word(out, _WHOM_AT + 2)


@drawing
def _heard(table, rows, day, whispers, out):
    """The utterances of a day, line by line."""
    k = 0
    while k < rows:
        if table[k, 0] != day:
            k += 1
            continue
        agent(out, int(table[k, 2]) - 1)
        word(out, _WHISPERS if whispers else _SPEAKS)
        k = utterance(table, k, rows, out)
        word(out, _NEWLINE)


@drawing
def _ballots(s, day, out):
    """The ballots of a day, a line each; the votes for who is executed."""
    counted = 0
    for ballot in range(2):
        found = 0
        for k in range(s.left.shape[0]):
            target = int(s.votes[day, ballot, k])
            if target > 0:
                word(out, _COMMA if found else _VOTES)
                number(out, k + 1)
                word(out, _FOR)
                number(out, target)
                found += 1
        if found:
            word(out, _NEWLINE)
            counted = 0
            for k in range(s.left.shape[0]):
                counted += s.votes[day, ballot, k] == s.executed[day]
    return counted


@drawing
def _told(s, day, part, out):
    """The log of a day in three parts: a heading and the talk; whispers; votes, deaths, and what a role was told."""
    if day > s.day or day >= s.executed.shape[0]:
        return
    if part == 0:
        word(out, _DAY_IS)
        number(out, day)
        word(out, _DAY_ENDS)
        word(out, _NEWLINE)
        _heard(s.talk, int(s.talk_rows), day, False, out)
    elif part == 1:
        _heard(s.whispers, int(s.whisper_rows), day, True, out)
    else:
        _happened(s, day, out)
    word(out, _NEWLINE)


@drawing
def _happened(s, day, out):
    """The votes and deaths of a day, and what a role was told."""
    counted = _ballots(s, day, out)
    if s.executed[day] > 0:
        agent(out, int(s.executed[day]) - 1)
        word(out, _EXECUTED)
        if counted > 0:
            word(out, _WITH)
            number(out, counted)
            word(out, _BALLOTS)
        word(out, _NEWLINE)
        if s.medium_result[day] > 0:
            word(out, _MEDIUM_SEES)
            agent(out, int(s.executed[day]) - 1)
            word(out, _WAS)
            word(out, _SPECIES_AT + int(s.medium_result[day]) - 1)
            word(out, _NEWLINE)
    if s.divine[day] > 0:
        word(out, _DIVINES_NOW)
        agent(out, int(s.divine[day]) - 1)
        word(out, _SPEAKS)
        word(out, _SPECIES_AT + int(s.divine_result[day]) - 1)
        word(out, _NEWLINE)
    if s.guard[day] > 0:
        word(out, _GUARDS_NOW)
        agent(out, int(s.guard[day]) - 1)
        word(out, _NEWLINE)
    if s.victim[day] > 0:
        agent(out, int(s.victim[day]) - 1)
        word(out, _KILLED)
        word(out, _NEWLINE)


@drawing
def tell(s, p, d, what, about, out):
    begin_words(out)
    if what == ENDING:
        ending(s, out)
    elif what == ACTION:
        _action(s, int(about), out)
    elif what == ASKED:
        _asked(s, p, int(about), out)
    elif what == LOG:
        _told(s, int(about) // LOG_PARTS, int(about) % LOG_PARTS, out)
    elif what == SPOT:
        if about < VERBS_AT:
            agent(out, about)
        elif about < _DAYS_AT:
            _spoken(s, about, -1, out)
        else:
            word(out, _DAY_IS)
            number(out, about - _DAYS_AT)
            word(out, _DAY_ENDS)
