"""Checks a certificate of a forced win in Gogo: `python check_gogo_win.py FILE`. Needs Python alone.

A certificate (from `asobiba gogo prove`) is JSON: `rule`, the parameters of the game; `position`, in one line; `nodes`, each
`[move, others, {reply: node}]`: the attacker's move, the node after each named reply, and the node after all others (-1: every
other reply ends the game). The last node belongs to the position. Every legal reply is tried.
"""

import json
import re
import sys

WAYS = ((0, 1), (1, 0), (1, 1), (-1, 1))


class Game:
    """A position: `cells` maps (row, column) to 0 or 1, the player."""

    def __init__(self, rule, cells, taken, mover):
        self.rule, self.cells, self.taken, self.mover = rule, cells, list(taken), mover
        self.size, self.winner = rule["board_size"], None
        """`winner`: `None` while the game goes on, then 0, 1, or -1 for a draw."""

    def at(self, point, way, k):
        row, col = point[0] + k * way[0], point[1] + k * way[1]
        return self.cells.get((row, col)) if 0 <= row < self.size and 0 <= col < self.size else "edge"

    def captured(self, point, me):
        ends = [(way, sign) for way in WAYS for sign in (1, -1)] if self.rule["captures"] else []
        found = [(w, s) for w, s in ends if [self.at(point, w, s * k) for k in (1, 2, 3)] == [1 - me, 1 - me, me]]
        return [(point[0] + s * k * w[0], point[1] + s * k * w[1]) for w, s in found for k in (1, 2)]

    def five(self, point, me):
        """Whether a stone of `me` here would stand, or stands, in a five."""
        for way in WAYS:
            length = 1
            for sign in (1, -1):
                k = 1
                while self.at(point, way, sign * k) == me:
                    length, k = length + 1, k + 1
            if length == 5 or (length > 5 and self.rule["overline"] == "wins"):
                return True
        return False

    def has_five(self, player):
        return any(stone == player and self.five(point, player) for point, stone in self.cells.items())

    def forbidden(self, point, me):
        shapes = {"allowed": (), "solid": (".xxx.",), "broken": (".xxx.", ".xx.x.", ".x.xx.")}[
            self.rule["double_three"]
        ]
        letter = {None: ".", me: "x", 1 - me: "o", "edge": "#"}
        threes = 0
        for way in WAYS if shapes else ():
            line = "".join("x" if k == 0 else letter[self.at(point, way, k)] for k in range(-5, 6))
            threes += any(m.start() < 5 < m.start() + len(s) and s[5 - m.start()] == "x"
                          for s in shapes for m in re.finditer(f"(?={re.escape(s)})", line))  # fmt: skip
        lifts = self.rule["lifts_ban"]
        lifted = ("capture" in lifts and self.captured(point, me)) or ("five" in lifts and self.five(point, me))
        return threes >= 2 and not (lifted or ("block" in lifts and self.five(point, 1 - me)))

    def legal(self, me):
        empty = [(r, c) for r in range(self.size) for c in range(self.size) if (r, c) not in self.cells]
        return [point for point in empty if not self.forbidden(point, me)]

    def perfect(self, owner):
        """Whether the opponent's captures break no five, and reach no goal."""
        takes = [(point, self.captured(point, 1 - owner)) for point in self.legal(1 - owner)]
        for point, taken in ((p, t) for p, t in takes if t):
            rest = {q: stone for q, stone in self.cells.items() if q not in taken} | {point: 1 - owner}
            after = Game(self.rule, rest, self.taken, owner)
            if 0 < self.rule["capture_goal"] <= self.taken[1 - owner] + len(taken) or not after.has_five(owner):
                return False
        return True

    def play(self, point):
        rule, me, taken = self.rule, self.mover, self.captured(point, self.mover)
        rest = {q: stone for q, stone in self.cells.items() if q not in taken} | {point: me}
        after = Game(rule, rest, self.taken, 1 - me)
        after.taken[me] += len(taken)
        mine, theirs = after.has_five(me), after.has_five(1 - me)
        if rule["captures"] and 0 < rule["capture_goal"] <= after.taken[me]:
            after.winner = me if not theirs else {"captor": me, "five": 1 - me, "draw": -1}[rule["against_five"]]
        elif theirs or (mine and (rule["five"] == "at_once" or not rule["captures"])):
            after.winner = 1 - me if theirs else me
        elif not after.legal(1 - me):
            after.winner = me if mine or rule["no_move"] == "loses" else -1
        elif mine and rule["five"] == "perfect" and after.perfect(me):
            after.winner = me
        return after


def check(nodes, game, number, seen):
    """Raises `ValueError` unless the node's player wins; `seen` are the positions that are checked."""
    key = (frozenset(game.cells.items()), *game.taken, number)
    if key in seen:
        return
    seen.add(key)
    move, others, named = nodes[number]
    me, point = game.mover, (int(move[1:]) - 1, ord(move[0]) - ord("a"))
    if point in game.cells or game.forbidden(point, me):
        raise ValueError(f"node {number}: {move} is not legal")
    after = game.play(point)
    for reply in after.legal(1 - me) if after.winner is None else ():
        name, end = "abcdefghijklmnopqrs"[reply[1]] + str(reply[0] + 1), after.play(reply)
        follow = named.get(name, others)
        if end.winner is None and follow >= 0:
            check(nodes, end, follow, seen)
        elif end.winner != me:
            raise ValueError(f"node {number}: {move} {name} is not won")
    if after.winner not in (None, me):
        raise ValueError(f"node {number}: {move} does not win")


def start(certificate):
    """The position of a certificate."""
    rows, mover, taken = certificate["position"].split()[:3]
    cells = {}
    for k, row in enumerate(reversed(rows.split("/"))):
        letters = re.sub(r"\d+", lambda run: "." * int(run[0]), row)
        cells |= {(k, col): "xo".index(letter) for col, letter in enumerate(letters) if letter != "."}
    return Game(certificate["rule"], cells, map(int, taken.split("-")), "xo".index(mover))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        told = json.load(file)
    positions = set()
    check(told["nodes"], start(told), len(told["nodes"]) - 1, positions)
    print(f"{'xo'[start(told).mover]} wins: {len(told['nodes'])} nodes, {len(positions)} positions, every reply tried")
