"""Sentences of AIWolf protocol 3.6, and things that are nearly such, for the contest server's verdicts on them.

`sentences()` are the same every time. `data/aiwolf_verdicts.txt` holds what `Content.validate` of the server's library says of
each (AIWolfCommon 0.6.3): 1 valid, 0 not, x the server fails. To get the verdicts again, give the sentences (`python
tests/werewolf_sentences.py`, each ended by a zero byte) to that library.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

NUMBER = 30_000
VERDICTS = Path(__file__).parent / "data" / "aiwolf_verdicts.txt"
_ROLES = ("VILLAGER", "SEER", "MEDIUM", "BODYGUARD", "POSSESSED", "WEREWOLF", "FREEMASON", "FOX", "ANY")
_SPECIES = ("HUMAN", "WEREWOLF", "ANY")
_ODD_WORDS = ("HUMAN", "SEER", "seer", "VOTE", "TALK", "", "Skip", "X", "ALL", "\uff33EER", "DAY 1")
_ODD_AGENTS = (
    "Agent[00]", "Agent[99]", "Agent[]", "Agent[1", "agent[01]", "Agent[2147483648]", "Agent[\uff11]", "UNSPEC", "Agent01",
    "Agent[-1]", "Agent[ 1]", "Agent[0000000000000003]", "any", "",
)  # fmt: skip
_BLANKS = (" ", " ", " ", " ", " ", " ", "  ", "\t", "   ", "", "\u3000", "\u00a0")
_LETTERS = (
    "(",
    ")",
    " ",
    "[",
    "]",
    "A",
    "0",
    "\n",
    "\u2028",
    "\x85",
    "\x0b",
    "Skip",
    "() ",
    ")(",
    "Over",
    "ANY",
    "(VOTE ANY)",
    "\U0001f43a",
)


class _Chance:
    # A generator of our own, so that the sentences are the same with every Python.
    def __init__(self, seed: int):
        self._state = seed

    def below(self, n: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's MMIX
        return (self._state >> 33) % n

    def one(self, among: Sequence[str]) -> str:
        return among[self.below(len(among))]


def _agent(chance: _Chance) -> str:
    kind = chance.below(24)
    if kind == 0:
        return chance.one(_ODD_AGENTS)
    return "ANY" if kind < 4 else f"Agent[{chance.below(16):02d}]"


def _word(chance: _Chance, usual: Sequence[str]) -> str:
    return chance.one(_ODD_WORDS) if chance.below(24) == 0 else chance.one(usual)


def _sentence(chance: _Chance, depth: int) -> str:
    blank = chance.one(_BLANKS) if chance.below(6) == 0 else " "
    subject = _agent(chance) + (chance.one(_BLANKS) if chance.below(8) == 0 else " ") if chance.below(5) == 0 else ""
    kind = chance.below(13 if depth < 3 else 8)
    if kind == 0:
        return chance.one(("Skip", "Over", "skip", "OVER", "Skip "))
    if kind == 1:
        words = (_word(chance, ("AGREE", "DISAGREE")), _word(chance, ("TALK", "WHISPER")))
        number = str(chance.below(30)) if chance.below(20) else chance.one(("", "-1", "2147483648", "0x1", "\u0661"))
        return subject + blank.join((*words, f"day{chance.below(9)}", f"ID:{number}"))
    if kind in (2, 3):
        words = (_word(chance, ("ESTIMATE", "COMINGOUT")), _agent(chance), _word(chance, _ROLES))
        return subject + blank.join(words)
    if kind in (4, 5):
        words = (_word(chance, ("DIVINED", "IDENTIFIED")), _agent(chance), _word(chance, _SPECIES))
        return subject + blank.join(words)
    if kind in (6, 7):
        verbs = ("ATTACK", "ATTACKED", "DIVINATION", "GUARD", "GUARDED", "VOTE", "VOTED")
        return subject + blank.join((_word(chance, verbs), _agent(chance)))
    operands = [f"({_sentence(chance, depth + 1)})" for _ in range(1 + chance.below(3))]
    if kind in (8, 9):
        head = (_word(chance, ("REQUEST", "INQUIRE")), _agent(chance))
    elif kind == 10:
        head = (_word(chance, ("DAY",)), str(chance.below(12)))
    else:
        head = (_word(chance, ("BECAUSE", "AND", "OR", "XOR", "NOT", "REQUEST")),)
    return subject + blank.join((*head, *operands))


def _damaged(chance: _Chance, text: str) -> str:
    for _ in range(1 + chance.below(2)):
        at, kind = chance.below(len(text) + 1), chance.below(4)
        if kind == 0:
            text = text[:at] + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + chance.one(_LETTERS) + text[at:]
        elif kind == 2:
            text = chance.one(_LETTERS) + text + chance.one(_LETTERS)
        else:
            text = text[:at]
    return text


def sentences() -> Iterator[str]:
    """`NUMBER` sentences, about a third of them damaged."""
    chance = _Chance(2026)
    for _ in range(NUMBER):
        text = _sentence(chance, 0)
        yield (_damaged(chance, text) if chance.below(3) == 0 else text).replace("\0", "")


def digest() -> str:
    """Of all sentences: verdicts hold for those with the same one."""
    return hashlib.sha256("\0".join(sentences()).encode()).hexdigest()


if __name__ == "__main__":
    sys.stdout.buffer.write("".join(f"{text}\0" for text in sentences()).encode())
