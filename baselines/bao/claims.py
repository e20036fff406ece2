"""The claims of Inahata and Takahashi's paper beside its tables: the rarity of endless moves, rings of the large board,
LOOP by the seeds of a start, and the verdict of their model checker on our model."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from asobiba.baselines.bao import promela
from asobiba.baselines.bao.loops import _sow_rotated
from asobiba.baselines.bao.report import board, checked_conditions, letters, replay
from asobiba.core import compiled, kernel, random_below
from asobiba.envs.bao import GAME
from asobiba.envs.bao.layout import starting_counts
from asobiba.pages import Opening, TextTable

_MOST_PLIES = 1000
_RECORD = np.dtype([("rng_key", np.uint64), ("rng_counter", np.uint64)])


@kernel
def _pick(record, cells, first, holes):
    """A random hole with seeds of a row, or -1."""
    chosen, count = -1, 0
    for hole in range(first, first + holes):
        if cells[hole] > 0:
            count += 1
            if random_below(record, count) == 0:
                chosen = hole
    return chosen


@kernel
def _move(cells, start, before):
    """Plays a move; whether it ends (with its capture). An endless one leaves the board as it was."""
    ring = cells.shape[0]
    before[:] = cells
    at = start
    while True:
        hand = cells[at]
        cells[at] = 0
        while hand > 0:
            at = (at + 1) % ring
            cells[at] += 1
            hand -= 1
        if cells[at] == 1:
            cells[ring - 1 - at] = 0
            return True
        if at == start:
            same = True
            for k in range(ring):
                if cells[k] != before[k]:
                    same = False
                    break
            if same:
                return False


@kernel
def _options(cells, first, holes, tried, before, counts):
    """Adds the moves that a row has to `counts`: all, and the endless ones."""
    for hole in range(first, first + holes):
        if cells[hole] > 0:
            tried[:] = cells
            counts[0] += 1
            if not _move(tried, hole, before):
                counts[1] += 1


@compiled()
def _random_moves(records, start, moves, found, counts):
    """Plays random games until `moves` moves are made; writes the boards of endless moves, the sown hole leftmost, into `found`, and
    what `_options` counts in all positions into `counts`; how many endless moves there were, and how many games."""
    ring = start.shape[0]
    holes = ring // 2
    cells, before, tried = start.copy(), start.copy(), start.copy()
    endless, games, ply = 0, 1, 0
    for _ in range(moves):
        _options(cells, holes * (ply % 2), holes, tried, before, counts)
        hole = _pick(records[0], cells, holes * (ply % 2), holes)
        over = hole < 0
        if hole >= 0:
            if _move(cells, hole, before):
                ply += 1
            else:
                if endless < found.shape[0]:
                    for k in range(ring):
                        found[endless, k] = cells[(hole + k) % ring]
                endless += 1
                over = True
            first, second = 0, 0
            for k in range(holes):
                first += cells[k]
                second += cells[holes + k]
            over = over or first == 0 or second == 0 or ply >= _MOST_PLIES
        if over:
            cells[:] = start
            games += 1
            ply = 0
    return endless, games


@compiled()
def _loop_facts(start, most):
    """Seeds sown in one round of the loop that begins with `start`, its sowings, and whether a board meets LOOP; zeros for one
    longer than `most` sowings."""
    ring = start.shape[0]
    now, after = start.copy(), start.copy()
    sown, meets = 0, False
    for length in range(1, most + 1):
        if now[0] >= 3 and now[0] % 2 == 1:
            good = True
            for k in range(1, ring - 1):
                if now[k] % 2 != k % 2:
                    good = False
                    break
            last = now[ring - 1]
            meets = meets or (good and ((last % 2 == 1 and last < now[0]) or (last % 2 == 0 and last >= now[0])))
        sown += _sow_rotated(now, after, ring)
        now, after = after, now
        same = True
        for k in range(ring):
            if now[k] != start[k]:
                same = False
                break
        if same:
            return sown, length, meets
    return 0, 0, False


@dataclass(frozen=True)
class RandomPlay:
    """Endless moves of random games: `moves` made in `games`, `endless` of them; of these, with a loop of period 0 (`short`),
    that meet condition LOOP, and whose period is the shift plus a multiple of the ring and one; the longest loop in sowings, and
    seeds on the boards, least and most. `options` and `endless_options` count the moves that the players had to choose from."""

    moves: int
    games: int
    endless: int
    short: int
    meeting: int
    regular: int
    longest: int
    seeds: tuple[int, int]
    options: int
    endless_options: int

    @property
    def rate(self) -> tuple[float, float, float]:
        """Moves for each endless one, and the 95 % interval by the Poisson distribution's normal approximation."""
        half = 1.96 * math.sqrt(max(self.endless, 1))
        return tuple(self.moves / max(n, 1) for n in (self.endless, self.endless + half, self.endless - half))  # type: ignore[return-value]


def random_play(holes: int, moves: int, seed: int = 0) -> RandomPlay:
    """Random games from the usual start, each cut off at its first endless move, as in the paper."""
    counts = starting_counts(holes, "alternate")
    assert counts is not None
    records = np.zeros(1, _RECORD)
    records["rng_key"] = np.uint64(seed * 2 + 1)
    found = np.zeros((moves // 100 + 100, 2 * holes), np.int64)
    options = np.zeros(2, np.int64)
    endless, games = _random_moves(records, np.array(counts, np.int64), moves, found, options)
    ring, facts = 2 * holes, []
    for cells in found[: min(endless, len(found))]:
        facts.append((*_loop_facts(cells, 10_000_000), int(cells.sum())))
    periods = [(sown // ring, sown % ring) for sown, *_ in facts]
    return RandomPlay(
        moves,
        int(games),
        int(endless),
        sum(period == 0 for period, _ in periods),
        sum(bool(meets) for (period, _), (_, _, meets, _) in zip(periods, facts) if period > 0),
        sum((period - shift) % (ring + 1) == 0 for period, shift in periods if period > 0),
        max((length for _, length, *_ in facts), default=0),
        (min((f[3] for f in facts), default=0), max((f[3] for f in facts), default=0)),
        options=int(options[0]),
        endless_options=int(options[1]),
    )


def _loop_by_seeds() -> TextTable:
    rows = []
    for ring, most in ((4, 16), (6, 18)):
        start = 2 * ring
        for c in checked_conditions({ring: most}):
            if c.longer or c.condition_boards:
                rows.append((
                    f"{ring // 2}", f"{c.seeds}", "yes" if c.seeds <= start else "no", f"{c.longer_meeting} of {c.longer}",
                    f"{c.condition_loops} of {c.condition_boards}",
                    "yes" if c.necessary and c.sufficient else "no",
                ))  # fmt: skip
    return TextTable(
        (
            "n",
            "seeds",
            "at most the start's",
            "longer loops that meet LOOP (necessary)",
            "LOOP boards that loop (sufficient)",
            "both",
        ),
        rows,
        "Condition LOOP below n = 4",
        "Every board of a ring of 2n holes, whether play reaches it or not. A start has 4 seeds in every other hole: 4n, 8 for n = 2 and 12 "
        "for n = 3; a board on which a move never ends can hold no more.",
    )


def _random_table(found: dict[int, RandomPlay]) -> TextTable:
    rows = []
    for holes, r in found.items():
        rate, low, high = r.rate
        longer = r.endless - r.short
        rows.append((
            f"{holes}x2", f"{r.moves:,}", f"{r.games:,}", f"{r.endless:,}", f"{rate:,.0f} ({low:,.0f} to {high:,.0f})",
            f"{r.options / max(r.endless_options, 1):,.0f}", f"{r.short}",
            f"{r.meeting} of {longer}", f"{r.regular} of {longer}", f"{r.longest:,}", f"{r.seeds[0]} to {r.seeds[1]}",
        ))  # fmt: skip
    return TextTable(
        ("board", "moves", "games", "endless", "one in so many moves (95 %)", "one in so many possible moves", "of period 0", "meet LOOP", "period = shift + (2n+1)k",
         "longest loop, sowings", "seeds"),
        rows,
        "Endless moves of random play",
        "Both sides play random holes from the usual start; an endless move ends the game. "
        "*Possible moves* are all that the players had to choose from.",
    )  # fmt: skip


def _checked_by_spin() -> TextTable:
    ruleset, rows = GAME.ruleset(holes=4), []
    for specification, formula in promela.SPECIFICATIONS.items():
        begun = perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            line = promela.counterexample(Path(folder), specification)
        kind = "none" if line is None else "an endless move" if replay(ruleset, line) else "a repetition"
        rows.append((f"`{formula}`", "" if line is None else letters(line), kind, f"{perf_counter() - begun:.0f}"))
    return TextTable(
        ("specification", "counterexample", "what it is", "seconds"),
        rows,
        "The model checker SPIN on 4x2",
        "Our model (`asobiba bao promela`) with the paper's two specifications: the game ends; the turn passes. SPIN stops at the first "
        "counterexample, which is replayed in the environment. The paper excluded one after the other by hand and found 12 endless "
        "moves and 5 repetitions; our enumeration gives all at once.",
    )


def _ring_16(seeds: int) -> TextTable:
    rows = []
    for c in checked_conditions({16: seeds}):
        rows.append((
            f"{c.seeds}", f"{c.boards:,}", f"{c.period_0}", f"{c.longer}", f"{c.longer_meeting} of {c.longer}",
            f"{c.condition_loops} of {c.condition_boards}", f"{c.shift_rule} of {c.longer}",
        ))  # fmt: skip
    return TextTable(
        ("seeds", "boards", "period 0", "period >= 1", "meet LOOP", "LOOP boards that loop", "period = shift + 17k"),
        rows,
        f"The ring of 8x2: every board of at most {seeds} seeds",
        f"Rows without any loop are left out. The least loop of period 1 is {board((3, *([1, 0] * 7), 1))}, of 11 seeds.",
    )


_SOURCE = (
    'Yasuhiro Inahata and Kazuko Takahashi, "Analysis of Cyclic Behavior of Board Game BAO and Its Verification Using Model Checker" '
    "(in Japanese), Kwansei Gakuin University."
)
_WORDS = (
    ("endless move", "sowing begins again with the seeds of a hole that was not empty; a move that never meets an empty hole never ends"),
    ("loop", "the boards that such a move goes through, each turned so that the hole sown from is leftmost"),
    ("period, shift", "how often the first hole is sown into, and how many holes further on the boards come again, in one round of the "
     "loop; with m holes, m times the period plus the shift seeds are sown"),
    ("pattern 1, pattern 2", "the two shapes of boards that the paper gives for loops of period 0: (n,0,1,...,n-1), and (n,n-2,...,1,0) "
     "followed by (n-1,...,1,0) as often as it fits, without the last 0"),
    ("LOOP", "the paper's condition for loops of period 1 and more: some board of the loop has an odd first hole of 3 or more, odd 2nd, 4th, "
     "... holes, even 3rd, 5th, ... ones, and in its last hole an odd number below the first or an even one of at least the first"),
    ("n", "holes of one row; the ring has 2n"),
)  # fmt: skip


def write_page(output: Path, command: str, moves: int, seeds: int, tell: Callable[[str], None]) -> None:
    """Works everything out and writes the page. Needs `spin` and `gcc`."""
    begun = perf_counter()
    tell("random play")
    play = {holes: random_play(holes, moves) for holes in (4, 6, 8)}
    tell("SPIN")
    spin = _checked_by_spin()
    tell("LOOP")
    small = _loop_by_seeds()
    tell("the ring of 8x2")
    ring = _ring_16(seeds)
    rate, low, high = play[8].rate
    longer = play[8].endless - play[8].short
    verdict = (
        (
            "An endless move comes about once in 10,000 positions (of programs that play each other)",
            f"8x2, random play: once in {play[8].options / play[8].endless_options:,.0f} of the moves that the players could choose from, "
            f"once in {rate:,.0f} of those that they made ({low:,.0f} to {high:,.0f}, 95 %)",
            "comes out; the paper does not say how its programs chose, nor which of the two it counted",
        ),
        ("4x2: 12 loops, 5 repetitions, the earliest at the 8th move", "13 loops, 5 repetitions, the earliest at the 3rd move: "
         "[the tables](bao.md)", "SPIN shows one counterexample at a time, and the one more loop is first reached at ply 24; each line of "
         "ours is replayed in the environment"),
        ("Loops of period 0 are of pattern 1 or 2", "on rings of 3 to 6 and 12 holes, and on that of 4x2 up to the 16 seeds of its start; not on rings of "
         "7, 9 and 10 holes, and at 19 seeds on 8 ("
         "[the tables](bao.md))", "the paper proves that the patterns loop, not that nothing else does"),
        ("LOOP is necessary and sufficient for n < 4", "n = 2: with at most the start's 8 seeds, both hold; n = 3: with 12 seeds "
         "or fewer, both hold but at 10 and 12 seeds", "boards with more seeds than the start has were counted before on our page, "
         "which is no fault of the paper; the exceptions of n = 3 need nearly all of its seeds"),
        ("LOOP is necessary for n >= 5, not sufficient; then shows a loop without it", "neither, from some number of seeds on",
         "necessary and sufficient changed places in the sentence: its example shows that LOOP is not necessary"),
        ("A loop of shift s has period s + 9k on 4x2", "all 12 longer loops that play reaches; m holes: s + (m+1)k with rare exceptions",
         "comes out"),
        ("Future work: the condition for loops of 8x2", f"of {longer} loops that random play met, {play[8].meeting} meet LOOP, "
         f"{play[8].regular} have period = shift + 17k; every board to {seeds} seeds below", "bounded, not solved: LOOP does not describe them"),
        ("A repetition on 8x2 at ply 47, again at ply 62", "one at ply 7, again at ply 9", "an odd number of plies apart the player to move "
         "differs: the board alone came again; here a position is the board and the player to move"),
    )  # fmt: skip
    opening = Opening(
        "Bao: what the paper says of endless moves", _SOURCE, command, perf_counter() - begun, verdict, _WORDS
    )
    others = (
        "Others on the question: David MacKay's page on mancala takes moves without end in kutakata, where sowing goes on in the same way, for "
        "an open problem. Values of the whole game stand on [the page of the tables](bao.md), endgames on [theirs](bao-endgame.md)."
    )
    parts = [opening.markdown(), *(t.markdown() for t in (_random_table(play), small, ring, spin)), others]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
