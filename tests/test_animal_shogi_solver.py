"""The solver of animal shogi: numbers of positions, moves forward and backward, retrograde analysis, what it counts."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from animal_shogi_tools import slow_position, turned

from asobiba.baselines.animal_shogi.solver import index, lookup, moves, reach, retrograde, solve, statistics
from asobiba.baselines.animal_shogi.solver import published as published_analysis
from asobiba.baselines.animal_shogi.solver.index import SIZE, WHOLE_GAME, material_code, material_counts
from asobiba.baselines.animal_shogi.solver.perft import perft as solver_perft
from asobiba.baselines.animal_shogi.solver.published import Line, as_markdown
from asobiba.core import compiled, game
from asobiba.core.states import is_over, legal_actions, new_state, step
from asobiba.envs.animal_shogi.reference import ReferenceGame, perft

RULESET = game("animal_shogi").ruleset()


@compiled()
def numbers_kept(material, first, last, stride):
    """Numbers that come back from their position, numbers of the other mirror image, and anything else."""
    same, mirrored, wrong = 0, 0, 0
    for number in range(first, last, stride):
        position = index.position_of(material, number)
        back = index.number_of(material, position)
        if back == number:
            same += 1
        elif index.mirror_order(material, position) == 1 and back < number:
            mirrored += 1
        else:
            wrong += 1
    return same, mirrored, wrong


def test_numbering_has_the_published_size():
    # Tanaka 2009, table 1: arrangements by pieces in hand.
    published = [638_668_800, 638_668_800, 242_161_920, 44_098_560, 4_134_240, 190_080, 3_564]
    found = Counter()
    starts = [*index.START[WHOLE_GAME, :27].tolist(), int(SIZE[WHOLE_GAME])]
    for shape in range(27):
        found[6 - sum(material_counts(shape))] += 132 * (starts[shape + 1] - starts[shape])
    assert [found[k] for k in range(7)] == published
    assert 132 * int(SIZE[WHOLE_GAME]) == sum(published) == 1_567_925_964
    assert index.PLACEMENTS == 72


@pytest.mark.parametrize("material", [0, 1, 5, 9, 13, 23])
def test_numbers_and_positions_are_inverse(material):
    same, mirrored, wrong = numbers_kept(material, 0, index.all_numbers(material), 1 if material < 13 else 7)
    assert wrong == 0
    assert same > mirrored


def test_numbers_of_the_whole_game_are_inverse():
    same, mirrored, wrong = numbers_kept(WHOLE_GAME, 0, index.all_numbers(WHOLE_GAME), 1009)
    assert (wrong, same + mirrored) == (0, -(-index.all_numbers(WHOLE_GAME) // 1009))


def unpacked(position: int) -> tuple:
    return tuple(int(x) for x in lookup.unpacked(position))


def test_moves_agree_with_the_rules_over_random_games():
    generator = np.random.default_rng(5)
    out = np.empty((1, moves.MOST_MOVES), np.int64)
    for _ in range(30):
        state = new_state(RULESET, 0)
        while not is_over(state):
            position = int(state["position"])
            _, *form = unpacked(position)
            if moves.goes_on(*form[:7]):
                count = moves.successors(out, 0, WHOLE_GAME, tuple(form), True)
                ours = Counter(int(word) for word in out[0, :count])
                theirs = Counter()
                for action in legal_actions(RULESET, state):
                    after = step(RULESET, state, int(action))
                    _, *then = unpacked(int(after["position"]))
                    kind = reach.kind_of(*then[:7]) if then[0] < 9 else moves.TRIED
                    theirs[4 * index.number_of(WHOLE_GAME, tuple(then)) + kind] += 1
                assert ours == theirs
            state = step(RULESET, state, int(generator.choice(legal_actions(RULESET, state))))


def test_perft_of_the_solver_agrees_with_the_slow_rules():
    counts = solver_perft(8)
    assert counts[:5] == [perft(ReferenceGame(), depth) for depth in range(1, 6)]
    assert counts == [4, 17, 123, 976, 8_122, 71_677, 635_117, 5_684_459]


@compiled()
def edges(material, values, forward, backward):
    """Counts moves between positions in which the game goes on, by the number they lead to, and the same backwards."""
    out = np.empty((1, moves.MOST_PREDECESSORS), np.int64)
    for number in range(values.shape[0]):
        if values[number] == retrograde.OUTSIDE:
            continue
        position = index.position_of(material, number)
        count = moves.successors(out, 0, material, position, True)
        if index.mirror_order(material, position) == 0:
            count = retrograde.distinct_words(out, 0, count)
        for k in range(count):
            if out[0, k] & 3 == moves.GOES_ON:
                forward[number] += 1
        count = moves.predecessors(out, 0, material, position)
        for k in range(count):
            backward[out[0, k]] += 1


@pytest.mark.parametrize("material", [2, 5, 10, 13])
def test_backward_moves_are_the_forward_moves(material):
    values = solve.solve_material(material)
    forward, backward = np.zeros(len(values), np.int32), np.zeros(len(values), np.int32)
    edges(material, values, forward, backward)
    inside = values != retrograde.OUTSIDE
    assert forward.sum() > 0
    assert np.array_equal(forward[inside], backward[inside])


def test_a_larger_sub_game_does_not_contradict_itself():
    material = material_code(1, 1, 2)
    values = solve.solve_material(material)
    assert retrograde.contradictions(material, values, 0, len(values), 1) == 0
    assert (values < retrograde.WAITING).sum() > 1_000_000


def test_positions_of_the_first_plies():
    """Positions within four plies of the start, against a breadth-first search by the slow rules."""
    seen, frontier = set(), [ReferenceGame(try_at_once=False)]
    for _ in range(5):
        following = []
        for slow in frontier:
            board, hands = turned(slow) if slow.mover else (slow.board, slow.hands)
            mirrored = {(2 - x, y): piece for (x, y), piece in board.items()}
            key = min(slow_position(board, hands), slow_position(mirrored, hands))
            if key in seen:
                continue
            seen.add(key)
            for move in slow.moves():
                if slow.board.get(move[2], (0, ""))[1] == "lion":
                    break
            else:
                for move in slow.moves():
                    after = slow.copy()
                    after.seen.clear()
                    after.play(move)
                    following.append(after)
        frontier = following
    start = reach.start_number(WHOLE_GAME)
    level, ours = {start}, set()
    out = np.empty((1, moves.MOST_MOVES), np.int64)
    for _ in range(5):
        ours |= level
        following = set()
        for number in level:
            position = index.position_of(WHOLE_GAME, number)
            if moves.goes_on(*position[:7]):
                count = moves.successors(out, 0, WHOLE_GAME, position, True)
                following |= {int(word) >> 2 for word in out[0, :count]}
        level = following - ours
    assert len(ours) == len(seen) > 500


class Stop(Exception):
    pass


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path):
    material = material_code(1, 1, 1)
    whole = solve.solve_material(material)
    seen = []

    def stop_after(count):
        def progress(phase, done, total):
            seen.append((phase, done))
            if len(seen) >= count:
                raise Stop

        return progress

    keep = solve.Checkpoints(tmp_path / "work", seconds=0)
    with pytest.raises(Stop):
        solve.solve_material(material, stop_after(14), keep)
    notes, arrays = keep.load(f"values-{material}")
    assert notes["level"] > 3
    assert not np.array_equal(arrays["values"], whole)
    seen.clear()
    again = solve.solve_material(material, lambda phase, done, total: seen.append((phase, done)), keep)
    assert np.array_equal(again, whole)
    assert all(phase == solve.LEVELS for phase, _ in seen)


def test_a_damaged_checkpoint_is_not_used(tmp_path):
    keep = solve.Checkpoints(tmp_path, seconds=0)
    keep.save("x", {"level": 3}, values=np.arange(100, dtype=np.uint8))
    assert keep.load("x")[0] == {"level": 3}
    path = tmp_path / "x.checkpoint"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    assert keep.load("x") is None
    assert not path.exists()
    path.write_bytes(b"noise")
    assert keep.load("x") is None


def made_up_totals() -> np.ndarray:
    """Two positions won in 1 with 5 moves each, three drawn with 6, one lost in 2 with 4."""
    totals = np.zeros(statistics.COLUMNS, np.int64)
    for value, moves_there, count in ((1, 5, 2), (retrograde.WAITING, 6, 3), (2, 4, 1)):
        totals[statistics.DISTANCES + value] = count
        of = statistics.DRAWN if value == retrograde.WAITING else statistics.WON if value % 2 else statistics.LOST
        totals[statistics.DEGREES + 64 * of + moves_there] = count
    return totals


def test_counts_have_names_and_can_be_stored():
    found = statistics.summary(made_up_totals(), (2, 3, 4))
    assert found["reachable"] == 9
    assert (found["won"], found["drawn"], found["lost"], found["by_plies"]) == (2, 3, 1, [0, 2, 1])
    assert (found["most_moves"], found["branching_won"], found["moves"]) == (6, 5, 10 + 18 + 4)
    assert json.loads(json.dumps(found)) == found


def test_the_page_names_what_differs(monkeypatch):
    counted = {
        **statistics.summary(made_up_totals(), (2, 3, 4)),
        "mates": [0, 5],
        "table": {"bytes": 7, "sha256": "abc"},
    }
    lines = [Line("a", "1", "1"), Line("b", "2", "3", "why")]
    monkeypatch.setattr(published_analysis, "comparison", lambda counted, measured: lines)
    page = as_markdown(counted, {})
    assert "| a | 1 | 1 | yes |  |" in page
    assert "| b | 2 | 3 | no | why |" in page
    assert "1 of 2 lines are equal" in page


def test_mate_problems_of_a_sub_game():
    """Every problem is a won position whose best check leads to mate; every reply to a check loses, or is mated sooner."""
    material = material_code(1, 1, 1)
    values = solve.solve_material(material)
    mates = solve.solve_mates(material, values)
    won, lost = (np.flatnonzero((mates < retrograde.WAITING) & (mates % 2 == odd)) for odd in (1, 0))
    assert len(won) > 1000
    assert (values[won] % 2 == 1).all()
    assert (values[lost] % 2 == 0).all()
    assert (values[won] <= mates[won]).all()
    out = np.empty((1, moves.MOST_MOVES), np.int64)

    def followers(number):
        count = moves.successors(out, 0, material, index.position_of(material, int(number)), True)
        return [int(word) >> 2 for word in out[0, :count] if word & 3 == moves.GOES_ON]

    def in_check(number):
        return moves.attackers(*index.position_of(material, int(number))[:7]) != 0

    for number in won[:: len(won) // 200]:
        assert mates[number] == 1 + min(
            mates[after] for after in followers(number) if in_check(after) and mates[after] % 2 == 0
        )
    for number in lost[:: len(lost) // 200]:
        assert in_check(number)
        if values[number] == 2:
            assert mates[number] == 2
        else:
            assert mates[number] == 1 + max(mates[after] for after in followers(number))
