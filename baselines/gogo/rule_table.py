"""Strategies as production rules: a table of (pattern, aim, purpose, value), read from YAML, played by one kernel.

This is the strategy design of the course: every empty square is given the value of the rules that fit it, the square of
the highest value is played, and ties are broken at random. A rule's `pattern` is looked for where the player's own stone
would stand (`purpose: attack`, 実現) or the opponent's (`purpose: defence`, 阻止).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from asobiba.baselines.gogo.patterns import CLASSES, MADE_FIVE, OPEN_THREE, point_class
from asobiba.core import GameParameterError, KernelAgent, kernel, random_below
from asobiba.envs.gogo.board import FIVES, TAKES, WORDS
from asobiba.envs.gogo.lines import line_through

MOST_RULES = 64
CAPTURE, GOAL, BREAK_FIVE, EXPOSED, THREATEN, FORK, CENTRE, CLOSE = range(8, 16)
PATTERNS: dict[str, tuple[int, str]] = {
    **{name: (number, "line") for number, name in enumerate(CLASSES) if number},
    "fork": (FORK, "line"),
    "break five": (BREAK_FIVE, "line"),
    "capture": (CAPTURE, "capture"),
    "five captures": (GOAL, "capture"),
    "capture threat": (THREATEN, "capture"),
    "exposed pair": (EXPOSED, "capture"),
    "centre": (CENTRE, "place"),
    "close": (CLOSE, "place"),
}
"""Each pattern: its number in the table and its aim. The first are what a stone makes of its line (see `patterns.py`).

* `fork`: open threes or more in two or more directions. `break five`: a capture of a stone of the opponent's five.
* `capture`: a capture; `five captures`: one that reaches the goal. `capture threat`: the stone leaves a pair that can be
  captured next; `exposed pair`: the stone stands in a pair that the other side could capture next.
* `centre`: its value is multiplied by the distance from the edge; `close`: by the stones next to the square.
"""
JAPANESE = {
    "五": "five", "五連": "five", "四": "four", "棒四": "open four", "達四": "open four", "活四": "open four", "三": "open three",
    "活三": "open three", "眠三": "closed three", "二": "open two", "活二": "open two", "四三": "fork", "三三": "fork",
    "五崩し": "break five", "取り": "capture", "五組取り": "five captures", "取りの狙い": "capture threat", "弱い二子": "exposed pair",
    "中央": "centre", "近く": "close", "四連": "four", "三連": "open three", "二連": "open two", "五連崩し": "break five",
    "五取": "five captures", "取": "capture",
}  # fmt: skip
"""Japanese words that are read as patterns; the last six are the paper's."""
PURPOSES = ("attack", "defence")
_JAPANESE_PURPOSES = {"実現": "attack", "阻止": "defence"}
_KEYS = ("pattern", "aim", "purpose", "value", "count", "pairs")


@dataclass(frozen=True)
class Strategy:
    """A strategy that was read: its rules as rows (pattern, purpose, least count, least pairs captured, value)."""

    name: str
    rows: tuple[tuple[int, int, int, int, int], ...]
    adds: bool
    """Whether a square's value is the sum of the rules that fit, or the greatest."""
    text: str


class RuleFileError(GameParameterError):
    """A strategy file that is none: names the file, the line and the reason."""


def _line_of(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def read_strategy(text: str, source: str = "strategy") -> Strategy:
    """Reads a strategy from YAML.

    Raises:
        RuleFileError: naming `source`, the line and what is wrong there.
    """

    def refuse(line: int, reason: str) -> RuleFileError:
        return RuleFileError(f"{source}, line {line}: {reason}")

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise refuse(mark.line + 1 if mark else 1, f"this is not YAML: {error.problem}") from None
    except RecursionError:
        raise refuse(1, "it is nested too deeply") from None
    except yaml.YAMLError as error:  # a character that YAML does not have
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise refuse(line, f"this is not YAML: {getattr(error, 'reason', error)}") from None
    if not isinstance(root, yaml.MappingNode):
        raise refuse(1, "a strategy is a mapping with the keys name, combine (optional) and rules")
    fields: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for key, value in root.value:
        if str(key.value) in fields:
            raise refuse(_line_of(key), f"{key.value!r} is given twice")
        fields[str(key.value)] = (key, value)
    for name in ("name", "description", "combine"):
        if name in fields and not isinstance(fields[name][1], yaml.ScalarNode):
            raise refuse(_line_of(fields[name][1]), f"{name} is a word or a text")
    for name, (key, _) in fields.items():
        if name not in ("name", "combine", "rules", "description"):
            raise refuse(
                _line_of(key), f"{name!r} is not a key of a strategy; its keys are name, description, combine, rules"
            )
    if "rules" not in fields or not isinstance(fields["rules"][1], yaml.SequenceNode):
        line = _line_of(fields["rules"][0]) if "rules" in fields else 1
        raise refuse(line, "a strategy has a list of rules under the key 'rules'")
    combine = fields["combine"][1].value if "combine" in fields else "highest"
    if combine not in ("highest", "sum"):
        raise refuse(_line_of(fields["combine"][1]), f"combine is highest or sum, not {combine!r}")
    nodes = fields["rules"][1].value
    if not 1 <= len(nodes) <= MOST_RULES:
        raise refuse(_line_of(fields["rules"][1]), f"a strategy has 1 to {MOST_RULES} rules, not {len(nodes)}")
    rows = []
    for node in nodes:
        if not isinstance(node, yaml.MappingNode):
            raise refuse(_line_of(node), "a rule is a mapping such as {pattern: five, purpose: attack, value: 900}")
        rows.append(_row(node, refuse))
    name = str(fields["name"][1].value) if "name" in fields else Path(source).stem
    return Strategy(name, tuple(rows), combine == "sum", text)


def _row(node: yaml.MappingNode, refuse: Any) -> tuple[int, int, int, int, int]:
    given = {}
    for key, value in node.value:
        if key.value not in _KEYS:
            raise refuse(_line_of(key), f"{key.value!r} is not a key of a rule; its keys are {', '.join(_KEYS)}")
        if key.value in given:
            raise refuse(_line_of(key), f"{key.value!r} is given twice in one rule")
        given[key.value] = value
    for needed in ("pattern", "value"):
        if needed not in given:
            raise refuse(_line_of(node), f"this rule has no {needed!r}")
    pattern = str(given["pattern"].value)
    pattern = JAPANESE.get(pattern, pattern)
    if pattern not in PATTERNS:
        close = difflib.get_close_matches(pattern, PATTERNS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise refuse(
            _line_of(given["pattern"]),
            f"{pattern!r} is not a pattern{hint} (patterns: {', '.join(PATTERNS)}; in Japanese: {', '.join(JAPANESE)})",
        )
    number, aim = PATTERNS[pattern]
    if "aim" in given and given["aim"].value != aim:
        raise refuse(_line_of(given["aim"]), f"the aim of {pattern!r} is {aim!r}, not {given['aim'].value!r}")
    purpose = given["purpose"].value if "purpose" in given else "attack"
    purpose = _JAPANESE_PURPOSES.get(str(purpose), purpose)
    if purpose not in PURPOSES:
        raise refuse(_line_of(given["purpose"]), f"purpose is attack (実現) or defence (阻止), not {purpose!r}")

    def whole(key: str, default: int, low: int, high: int) -> int:
        if key not in given:
            return default
        try:
            value = int(given[key].value) if re.fullmatch("[+-]?[0-9]{1,9}", given[key].value) else low - 1
        except (TypeError, ValueError):
            value = low - 1
        if not low <= value <= high:
            raise refuse(
                _line_of(given[key]), f"{key} is a whole number from {low} to {high}, not {given[key].value!r}"
            )
        return value

    value = whole("value", 0, -1_000_000, 1_000_000)
    return number, PURPOSES.index(purpose), whole("count", 1, 1, 8), whole("pairs", 0, 0, 20), value


@kernel
def _pairs_left(s, p, point, player, exposed):
    """Pairs that the player's stone here leaves to be captured next: the opponent's (a threat), or his own (`exposed`)."""
    count = 0
    for direction in range(4):
        line, bit, _, _ = line_through(p, point, direction)
        own = np.int64(s.lines[WORDS * line + player])
        other = np.int64(s.lines[WORDS * line + 1 - player])
        empty = np.int64(p.full[line]) & ~(own | other)
        for side in range(2):
            # Distances 1, 2, 3 to one side, and 1, 2 to the other.
            if side == 0:
                o1, o2 = (other >> (bit + 1)) & 1, (other >> (bit + 2)) & 1
                m1, e3, e2 = (own >> (bit + 1)) & 1, (empty >> (bit + 3)) & 1, (empty >> (bit + 2)) & 1
                back_o = ((other << 1) >> bit) & 1
                back_e = ((empty << 1) >> bit) & 1
            else:
                o1, o2 = ((other << 1) >> bit) & 1, ((other << 2) >> bit) & 1
                m1, e3, e2 = ((own << 1) >> bit) & 1, ((empty << 3) >> bit) & 1, ((empty << 2) >> bit) & 1
                back_o = (other >> (bit + 1)) & 1
                back_e = (empty >> (bit + 1)) & 1
            if exposed:
                far_o = (other >> (bit + 2)) & 1 if side == 0 else ((other << 2) >> bit) & 1
                count += m1 & ((e2 & back_o) | (far_o & back_e))
            else:
                count += o1 & o2 & e3
    return count


@kernel
def rule_policy(view, p, legal, memory):
    """The square of the highest value by the rules in `memory`, ties at random."""
    area = np.int64(p.area)
    n = np.int64(p.width)
    me = np.int64(view.to_move)
    best = -(1 << 40)
    ties = 0
    chosen = -1
    five_against = view.fives[1 - me] > 0
    for point in range(area):
        if legal[point] == 0:
            continue
        value = np.int64(0)
        first = True
        for side in range(2):
            player = me if side == 0 else 1 - me
            if (memory.purposes >> side) & 1 == 0:
                continue
            classes = np.int64(0)  # eight counts of four bits
            strong = 0
            takes = np.int64(view.planes[(TAKES + player) * area + point])
            known = False
            for r in range(memory.count):
                if memory.purpose[r] != side:
                    continue
                pattern = np.int64(memory.pattern[r])
                amount = np.int64(0)
                if pattern <= MADE_FIVE or pattern == FORK:
                    if not known:
                        known = True
                        for direction in range(4):
                            kind = point_class(view, p, point, player, direction)
                            classes += np.int64(1) << (4 * kind)
                            strong += 1 if kind >= OPEN_THREE else 0
                    amount = (classes >> (4 * pattern)) & 15 if pattern != FORK else strong // 2
                elif pattern == CAPTURE:
                    amount = takes
                elif pattern == GOAL:
                    amount = 1 if p.goal > 0 and takes > 0 and view.captured[player] + 2 * takes >= p.goal else 0
                elif pattern == BREAK_FIVE:
                    if five_against and side == 0 and takes > 0:
                        amount = _breaks_five(view, p, point, me)
                elif pattern in (THREATEN, EXPOSED):
                    amount = np.int64(_pairs_left(view, p, point, player, pattern == EXPOSED)) if p.captures != 0 else 0
                elif pattern == CENTRE:
                    amount = min(min(point // n, n - 1 - point // n), min(point % n, n - 1 - point % n))
                else:
                    amount = _stones_beside(view, p, point)
                if amount >= memory.least[r] and 2 * memory.pairs[r] <= view.captured[player]:
                    worth = np.int64(memory.value[r])
                    if pattern in (CENTRE, CLOSE):
                        worth *= amount
                    if memory.adds != 0:
                        value += worth
                    elif first or worth > value:
                        value = worth
                        first = False
        if value > best:
            best = value
            ties = 0
        if value == best:
            ties += 1
            if random_below(memory, ties) == 0:
                chosen = point
    return chosen


@kernel
def _breaks_five(view, p, point, me):
    """Stones of a standing five that the mover's stone here captures."""
    area = np.int64(p.area)
    count = 0
    for direction in range(4):
        line, bit, start, stride = line_through(p, point, direction)
        own = np.int64(view.lines[WORDS * line + me])
        other = np.int64(view.lines[WORDS * line + 1 - me])
        if ((other >> (bit + 1)) & (other >> (bit + 2)) & (own >> (bit + 3))) & 1:
            count += np.int64(view.planes[FIVES * area + start + stride * (bit + 1)])
            count += np.int64(view.planes[FIVES * area + start + stride * (bit + 2)])
        if bit >= 3 and ((other >> (bit - 1)) & (other >> (bit - 2)) & (own >> (bit - 3))) & 1:
            count += np.int64(view.planes[FIVES * area + start + stride * (bit - 1)])
            count += np.int64(view.planes[FIVES * area + start + stride * (bit - 2)])
    return count


@kernel
def _stones_beside(view, p, point):
    area = np.int64(p.area)
    n = np.int64(p.width)
    row = point // n
    col = point % n
    count = np.int64(0)
    for r in range(max(row - 1, 0), min(row + 2, n)):
        for c in range(max(col - 1, 0), min(col + 2, n)):
            count += np.int64(view.planes[r * n + c]) + np.int64(view.planes[area + r * n + c])
    return count


MEMORY: list[tuple] = [
    ("count", np.int16),
    ("adds", np.uint8),
    ("purposes", np.uint8),
    ("value", np.int32, (MOST_RULES,)),
    ("pattern", np.uint8, (MOST_RULES,)),
    ("purpose", np.uint8, (MOST_RULES,)),
    ("least", np.uint8, (MOST_RULES,)),
    ("pairs", np.uint8, (MOST_RULES,)),
]


def rule_agent(strategy: Strategy) -> KernelAgent:
    """The agent that plays a strategy."""
    columns = np.zeros((5, MOST_RULES), np.int64)
    columns[:, : len(strategy.rows)] = np.array(strategy.rows).T
    initial = {
        "count": len(strategy.rows),
        "adds": strategy.adds,
        "purposes": sum({1 << row[1] for row in strategy.rows}),
        "pattern": columns[0],
        "purpose": columns[1],
        "least": columns[2],
        "pairs": columns[3],
        "value": columns[4],
    }
    return KernelAgent(rule_policy, MEMORY, initial, strategy.name)


def load_strategy(path: str | Path) -> Strategy:
    """The strategy of a YAML file.

    Raises:
        RuleFileError: for a file that cannot be read, or is not a strategy.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleFileError(f"the strategy {path} cannot be read: {error}") from None
    return read_strategy(text, str(path))
