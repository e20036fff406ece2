"""Sentences of the protocol in plain Japanese and English, and back, for the contests in natural language.

What is said follows fixed templates. What is heard is searched for the same templates and for usual ways to say the same;
anything else means nothing to our agents. An utterance may hold several sentences. Sentences in sentences stand in quotation
marks, so that they are read back exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from asobiba.core import GameParameterError
from asobiba.envs.werewolf.layout import (
    AGREE,
    AND,
    ATTACK,
    ATTACKED,
    BECAUSE,
    BODYGUARD,
    COMINGOUT,
    DAY,
    DISAGREE,
    DIVINATION,
    DIVINED,
    ESTIMATE,
    GUARD,
    GUARDED,
    HUMAN,
    IDENTIFIED,
    INQUIRE,
    MEDIUM,
    NOT,
    OR,
    OVER,
    POSSESSED,
    REQUEST,
    SEER,
    SKIP,
    VILLAGER,
    VOTED,
    VOTING,
    WEREWOLF,
    WOLF,
    XOR,
)
from asobiba.envs.werewolf.notation import arity


class Word(NamedTuple):
    """A word of a sentence: its act, its target (a seat or -1), and a role, species or day (or 0)."""

    act: int
    target: int = -1
    value: int = 0


Sentence = tuple[Word, ...]
"""Words in prefix order."""

# {t}: the target; {v}: the role, species or day; {0} and {1}: sentences within.
_SAID: dict[str, dict[int, str]] = {
    "ja": {
        SKIP: "もう少し様子を見ます。", COMINGOUT: "私は{v}です。", ESTIMATE: "{t}は{v}だと思います。",
        DIVINED: "占いの結果、{t}は{v}でした。", IDENTIFIED: "霊媒の結果、{t}は{v}でした。", GUARDED: "{t}を護衛しました。",
        VOTING: "{t}に投票します。", ATTACK: "{t}を襲撃しましょう。", AGREE: "{t}に賛成です。", DISAGREE: "{t}に反対です。",
        DIVINATION: "{t}を占います。", GUARD: "{t}を護衛します。", VOTED: "{t}に投票しました。", ATTACKED: "{t}を襲撃しました。",
        REQUEST: "{t}にお願いします:「{0}」", INQUIRE: "{t}に聞きます:「{0}」", BECAUSE: "「{0}」なので「{1}」",
        NOT: "「{0}」ということはありません", AND: "「{0}」かつ「{1}」", OR: "「{0}」または「{1}」", XOR: "「{0}」か「{1}」の一方だけ",
        DAY: "{v}日目のこと:「{0}」",
    },
    "en": {
        SKIP: "I will wait and see.", COMINGOUT: "I am {v}.", ESTIMATE: "I think {t} is {v}.",
        DIVINED: "My divination shows that {t} is {v}.", IDENTIFIED: "The medium's vision shows that {t} was {v}.",
        GUARDED: "I guarded {t}.", VOTING: "I will vote for {t}.", ATTACK: "Let us attack {t}.", AGREE: "I agree with {t}.",
        DISAGREE: "I disagree with {t}.", DIVINATION: "I will divine {t}.", GUARD: "I will guard {t}.",
        VOTED: "I voted for {t}.", ATTACKED: "I attacked {t}.", REQUEST: "I ask {t} for this: “{0}”",
        INQUIRE: "I ask {t} whether: “{0}”", BECAUSE: "Because “{0}”, “{1}”", NOT: "It is not so that “{0}”",
        AND: "Both “{0}” and “{1}”", OR: "“{0}” or “{1}”", XOR: "Only one of “{0}” and “{1}”", DAY: "On day {v}: “{0}”",
    },
}  # fmt: skip
LANGUAGES = tuple(_SAID)
_ROLES_SAID = {
    "ja": ("村人", "占い師", "霊媒師", "騎士", "狂人", "人狼"),
    "en": ("a villager", "the seer", "the medium", "the bodyguard", "the possessed", "a werewolf"),
}
_SPECIES_SAID = {"ja": ("人間", "人狼"), "en": ("human", "a werewolf")}
_ROLE_WORDS = {
    "村人": VILLAGER, "市民": VILLAGER, "占い師": SEER, "占師": SEER, "霊媒師": MEDIUM, "霊能者": MEDIUM, "霊能師": MEDIUM,
    "騎士": BODYGUARD, "狩人": BODYGUARD, "狂人": POSSESSED, "裏切り者": POSSESSED, "人狼": WEREWOLF, "狼": WEREWOLF,
    "villager": VILLAGER, "seer": SEER, "fortune teller": SEER, "medium": MEDIUM, "bodyguard": BODYGUARD, "knight": BODYGUARD,
    "possessed": POSSESSED, "madman": POSSESSED, "werewolf": WEREWOLF, "wolf": WEREWOLF,
}  # fmt: skip
_ROLE = "(?P<role>" + "|".join(sorted(map(re.escape, _ROLE_WORDS), key=len, reverse=True)) + ")"
_OPENING, _CLOSING = "「“", "」”"
_ENDS = "。！!？?\n"
_NOT = re.compile(r"ない|ありません|なかった|\bnot\b|n't\b", re.IGNORECASE)
_DOUBTED = re.compile(r"思|だろう|かも|でしょう|think|believe|suspect|maybe|perhaps|\bif\b|もし", re.IGNORECASE)
_HUMAN_WORDS = re.compile(r"人間|白|シロ|村人|human|innocent|villager|\bgood\b", re.IGNORECASE)
_WOLF_WORDS = re.compile(r"人狼|狼|黒|クロ|wolf|\bevil\b", re.IGNORECASE)

# How simple sentences are heard, the first that fits: an act and an expression in which § stands for a name. `rest` is where
# the species is looked for. An act with a fixed value has it behind the expression.
_HEARD: tuple[tuple[int, str, int], ...] = (
    (DIVINED, r"占(?!い?師|い?ます|い?たい|う).*?§(?P<rest>.*)", 0),
    (DIVINED, r"§.{0,3}を占(?:った|いました|ったら)(?P<rest>.*)", 0),
    (DIVINED, r"\b(?:divin|checked|inspected|investigated)\w*\b.*?§(?P<rest>.*)", 0),
    (IDENTIFIED, r"霊[媒能](?!師|者).*?§(?P<rest>.*)", 0),
    (IDENTIFIED, r"\bmedium.*?§(?P<rest>.*)", 0),
    (VOTED, r"§に(?:投票し|票を入れ|入れ)(?:まし)?た", 0),
    (VOTED, r"\bvoted (?:for |out )?§", 0),
    (VOTING, r"§に(?:投票|票を入れ|入れ)|§を(?:吊|追放|処刑)", 0),
    (VOTING, r"\bvot(?:e|ing) (?:for |out )?§|\b(?:execute|eliminate|exile|banish) §", 0),
    (GUARDED, r"§を(?:護衛しまし|護衛し|守りまし|守っ)た", 0),
    (GUARDED, r"\b(?:guarded|protected) §", 0),
    (GUARD, r"§を(?:護衛|守)", 0),
    (GUARD, r"\b(?:guard|protect)(?:ing)? §", 0),
    (ATTACKED, r"§を(?:襲撃しまし|襲撃し|襲いまし|襲っ|噛みまし|噛ん)[ただ]", 0),
    (ATTACKED, r"\bI (?:attacked|killed) §", 0),
    (ATTACK, r"§を(?:襲|噛)", 0),
    (ATTACK, r"\b(?:attack|kill)(?:ing)? §", 0),
    (DIVINATION, r"§を占[いうおわ]", 0),
    (DIVINATION, r"\b(?:divine|check|inspect|investigate) §", 0),
    (DISAGREE, r"§(?:の意見|の考え)?に.{0,4}反対", 0),
    (DISAGREE, r"\bdisagree with §", 0),
    (AGREE, r"§(?:の意見|の考え)?に.{0,4}(?:賛成|同意|同感)", 0),
    (AGREE, r"\bagree with §", 0),
    (ESTIMATE, rf"§(?:は|が|を|こそ|も).*?{_ROLE}", 0),
    (ESTIMATE, rf"§ (?:is|was|may be|might be|must be|could be|seems|looks)\b.*?\b{_ROLE}\b", 0),
    (ESTIMATE, r"§(?:は|が|を|も).*?(?:怪し|疑|黒|クロ)", WEREWOLF),
    (ESTIMATE, r"\b(?:suspect|doubt|suspicious of) §|§ (?:is|seems|looks) (?:very |quite |most )?suspicious", WEREWOLF),
    (ESTIMATE, r"§(?:は|が|を|も).*?(?:白|シロ|信用|信じ)", VILLAGER),
    (ESTIMATE, r"\btrust §", VILLAGER),
    (COMINGOUT, rf"(?:私|僕|俺|わたし|ぼく|自分)(?:は|が|こそ|も)?、?.{{0,12}}?{_ROLE}(?:です|だ|で|CO|なの)", 0),
    (COMINGOUT, rf"^{_ROLE}(?:です|だよ|だ$|CO|カミングアウト)", 0),
    (COMINGOUT, rf"\bI(?:'m| am)(?: actually| really| indeed)?(?: the| an?| your)? {_ROLE}\b", 0),
    (COMINGOUT, rf"\b(?:come|coming) out as (?:the |an? )?{_ROLE}\b", 0),
)
_SURE = {DIVINED, IDENTIFIED}
_OPERATORS = (REQUEST, INQUIRE, BECAUSE, NOT, AND, OR, XOR, DAY)
_GAP = "\0"


class Speech:
    """The language of a village.

    Args:
        names: of all seats.
        language: that is spoken: "ja" or "en". Both are understood.

    Raises:
        GameParameterError: for another language.
    """

    def __init__(self, names: Sequence[str], language: str):
        if language not in LANGUAGES:
            raise GameParameterError(f"language is {language!r}; expected one of: {', '.join(LANGUAGES)}")
        self.names, self.language = tuple(names), language

    def say(self, words: Iterable[Word]) -> str:
        """A sentence in the language; `Over` stands for itself."""
        rest = list(words)

        def read() -> str:
            act, target, value = rest.pop(0)
            if act == OVER:
                return "Over"
            shown = str(value)
            if act in (COMINGOUT, ESTIMATE):
                shown = _ROLES_SAID[self.language][value - 1]
            elif act in (DIVINED, IDENTIFIED):
                shown = _SPECIES_SAID[self.language][value - 1]
            inside = [read() for _ in range(arity(act))]
            return _SAID[self.language][act].format(*inside, t=self.names[target] if target >= 0 else "", v=shown)

        return read()

    def hear(self, speaker: int, text: str) -> list[Sentence]:
        """The statements in a speaker's utterance, in the order of its sentences; what cannot be understood is left out."""
        found = [self._sentence(speaker, piece, 0) for piece in _pieces(text)]
        return [sentence for sentence in found if sentence is not None]

    def target(self, text: str) -> int | None:
        """The seat that a reply names, or `None`."""
        name = text.strip()
        return self.names.index(name) if name in self.names else None

    @cached_property
    def _name(self) -> str:
        names = "|".join(re.escape(name) for name in sorted(self.names, key=len, reverse=True))
        return f"@?(?P<name>{names})(?:さん|くん|君|ちゃん|様)?"

    @cached_property
    def _simple(self) -> list[tuple[int, re.Pattern[str], int]]:
        named: list[tuple[int, re.Pattern[str], int]] = []
        for act, expression, value in _HEARD:
            first, *others = expression.split("§")
            names = (self._name.replace("?P<name>", f"?P<name{k}>") for k in range(len(others)))
            whole = first + "".join(name + part for name, part in zip(names, others, strict=True))
            named.append((act, re.compile(whole, re.IGNORECASE), value))
        return named

    @cached_property
    def _composed(self) -> list[tuple[int, re.Pattern[str]]]:
        found = []
        for said in _SAID.values():
            for act in _OPERATORS:
                text = re.escape(re.sub(r"[「“]\{[01]\}[」”]", _GAP, said[act]))
                text = text.replace(re.escape("{t}"), self._name).replace(re.escape("{v}"), "(?P<day>[0-9]{1,2})")
                found.append((act, re.compile(text + "[。.]?", re.IGNORECASE)))
        return found

    def _sentence(self, speaker: int, text: str, depth: int) -> Sentence | None:
        skeleton, quoted = _without_quotes(text)
        if not quoted:
            return self._heard(speaker, text)
        for act, pattern in self._composed:
            match = pattern.fullmatch(skeleton) if depth < 2 else None
            if match is None:
                continue
            parts = [self._sentence(speaker, part.strip(), depth + 1) for part in quoted]
            if len(parts) != arity(act) or any(part is None for part in parts):
                return None
            groups = match.groupdict()
            target = self._seat(groups["name"]) if groups.get("name") else -1
            first = Word(act, target, int(groups.get("day") or 0))
            return (first, *(word for part in parts if part is not None for word in part))
        return None

    def _seat(self, name: str) -> int:
        folded = [known.casefold() for known in self.names]
        return folded.index(name.casefold())

    def _heard(self, speaker: int, text: str) -> Sentence | None:
        if text.rstrip().endswith(("?", "？", "か", "か。")):
            return None
        for said in _SAID.values():
            if text.rstrip("。. ") == said[SKIP].rstrip("。. "):
                return (Word(SKIP),)
        refused, doubted = _NOT.search(text) is not None, _DOUBTED.search(text) is not None
        for act, pattern, value in self._simple:
            match = pattern.search(text)
            if match is None or (act in _SURE and doubted) or (act not in _SURE and refused):
                continue
            groups = match.groupdict()
            target = next((self._seat(found) for key, found in groups.items() if key.startswith("name") and found), -1)
            if act in _SURE:
                value = _species(groups["rest"])
                if not value:
                    continue
            elif groups.get("role"):
                value = _ROLE_WORDS[groups["role"].lower()]
            if act == ESTIMATE and target == speaker:
                return (Word(COMINGOUT, -1, value),)
            return (Word(act, target, value),)
        return None


def _species(text: str) -> int:
    """The species that a result tells: 0 for none, and for both."""
    human, wolf = _HUMAN_WORDS.search(text) is not None, _WOLF_WORDS.search(text) is not None
    if human == wolf:
        return 0
    if _NOT.search(text):
        return HUMAN if wolf else 0
    return WOLF if wolf else HUMAN


def _pieces(text: str) -> list[str]:
    """The sentences of an utterance; what is quoted stays together."""
    pieces, depth, begin = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in _OPENING) - (letter in _CLOSING)
        last = letter in _ENDS or (letter == "." and (k + 1 == len(text) or text[k + 1].isspace()))
        if last and depth == 0:
            pieces.append(text[begin : k + 1])
            begin = k + 1
    return [piece.strip() for piece in (*pieces, text[begin:]) if piece.strip()]


def _without_quotes(text: str) -> tuple[str, list[str]]:
    """The text with a gap for each outermost quotation, and the quotations."""
    outside, quoted, depth, begin = "", [], 0, 0
    for k, letter in enumerate(text):
        if letter in _OPENING:
            if depth == 0:
                begin = k + 1
            depth += 1
        elif letter in _CLOSING and depth > 0:
            depth -= 1
            if depth == 0:
                quoted.append(text[begin:k])
                outside += _GAP
        elif depth == 0:
            outside += letter
    return outside, quoted
