"""The secret from which a league's randomness follows, until it is published.

A `Match` is public: the agents, and the number of the deal. The seeds of its game and of its agents are HMAC-SHA256 of
that, under 128 bits that no player knows, so no seed reveals another. When a league is published, its secret is
published too, and everybody can play all its games again. The commitment (SHA-256 of the secret), announced before,
proves that the secret is the same.

Source: Krawczyk, Bellare, Canetti, "HMAC: Keyed-Hashing for Message Authentication", RFC 2104, 1997.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from asobiba.arena.match import Match
from asobiba.core import AsobibaError

BYTES = 16


@dataclass(frozen=True)
class Secret:
    """The secret from which the seeds of many matches follow.

    Args:
        bits: 16 random bytes.
        seed: the seed from which `bits` follow, if there is one: then nothing is secret.
    """

    bits: bytes = field(repr=False)
    seed: int | None = None

    @classmethod
    def draw(cls) -> Secret:
        """Draws a new secret from the operating system's generator."""
        return cls(secrets.token_bytes(BYTES))

    @classmethod
    def of_seed(cls, seed: int) -> Secret:
        """The secret that everybody can derive from a seed: for reproducible games."""
        return cls(hashlib.sha256(f"asobiba public seed {seed}".encode()).digest()[:BYTES], seed)

    @classmethod
    def of_text(cls, text: str) -> Secret:
        """Reads a published secret.

        Raises:
            AsobibaError: if the text is not 32 hexadecimal digits.
        """
        digits = text.strip().lower()
        if len(digits) != 2 * BYTES or not set(digits) <= set("0123456789abcdef"):
            raise AsobibaError(f"a secret is {2 * BYTES} hexadecimal digits, not {text!r}")
        return cls(bytes.fromhex(digits))

    @classmethod
    def chosen(cls, seed: int | None = None, text: str | None = None) -> Secret:
        """The secret of a seed or of a published secret's text; a new one if neither is given."""
        if seed is not None and text is not None:
            raise AsobibaError("give --seed or --secret, not both")
        return cls.of_text(text) if text is not None else cls.draw() if seed is None else cls.of_seed(seed)

    @property
    def text(self) -> str:
        """32 hexadecimal digits."""
        return self.bits.hex()

    @property
    def commitment(self) -> str:
        """SHA-256 of `text`, 64 hexadecimal digits: it reveals nothing, and fits no other secret.

        In a shell: `printf %s SECRET | sha256sum`.
        """
        return commitment(self.text)

    @property
    def announced(self) -> str:
        """The announcement before games begin."""
        if self.seed is not None:
            return f"The seeds are public: they follow from --seed {self.seed}"
        return f"The seeds follow from a secret that is told at the end; its SHA-256: {self.commitment}"

    @property
    def told(self) -> str:
        """The disclosure when they are over."""
        if self.seed is not None:
            return f"The seeds were public: they follow from --seed {self.seed}"
        return f"The seeds followed from --secret {self.text} (compare: printf %s {self.text} | sha256sum)"

    def number(self, *what: Any) -> int:
        """63 bits for a purpose, such as `("game", ...)`: text and integers, in an unambiguous encoding."""
        text = json.dumps(what, separators=(",", ":"))
        return int.from_bytes(hmac.digest(self.bits, text.encode(), "sha256")[:8], "big") >> 1

    def seeds(self, match: Match) -> tuple[int, ...]:
        """The seeds of the match's game and of the agent at each seat; an agent's belongs to this match alone."""
        return (self.game_seed(match), *(self.number("agent", match.key, seat) for seat in range(len(match.seats))))

    def game_seed(self, match: Match) -> int:
        """The seed of the game's chance: the same for all matches of one deal (`Match.seed`)."""
        return self.number("game", match.game, match.version, match.parameters_text, match.seed)

    def deal(self, match: Match) -> Match:
        """The match with its seeds."""
        return replace(match, seeds=self.seeds(match))

    def deal_all(self, matches: Iterable[Match]) -> list[Match]:
        """The matches with their seeds."""
        return [self.deal(match) for match in matches]


def commitment(text: str) -> str:
    """SHA-256 of a text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
