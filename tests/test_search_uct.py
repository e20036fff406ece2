"""The shared UCT: its defaults are those that other games were measured with; its switches do what they say."""

from __future__ import annotations

from math import ceil, log, sqrt

import numpy as np
import pytest

from asobiba.baselines.search import uct_loops
from asobiba.baselines.search.uct import UctSearcher
from asobiba.core import GameParameterError, game, states
from asobiba.core.record import SAMPLER, record_dtype

BAO = game("bao").ruleset()


def start(ruleset=BAO):
    return states.new_state(ruleset, 0)


def test_the_defaults_find_what_they_always_found():
    """Counts of the search as it was before it had switches."""
    searcher = UctSearcher(BAO)
    found = searcher.search(start(), 700)
    assert found.visits == {1: 27, 3: 14, 5: 540, 7: 119}
    assert (found.action, found.nodes) == (5, 1163)
    searcher.seed(5)
    assert searcher.search(start(), 50).visits == {1: 15, 3: 7, 5: 2, 7: 26}


def test_leaves_are_expanded_after_so_many_visits():
    for after in (1, 8):
        nodes = UctSearcher(BAO, expand_after=after).search(start(), 400).nodes
        assert nodes > 400 if after == 1 else nodes < 400


def test_without_urgency_all_children_come_first_and_with_little_urgency_few_do():
    assert min(UctSearcher(BAO).search(start(), 4).visits.values()) == 1
    first = UctSearcher(BAO, urgency=199.0).search(start(), 2).visits
    assert list(first.values())[:2] == [1, 1]
    few = UctSearcher(BAO, urgency=-2.0, exploration=0.0).search(start(), 50).visits
    assert sorted(few.values())[:-1] == [0, 0, 0]


def test_widening_allows_children_by_the_formula():
    visits = UctSearcher(BAO, widening=(1.0, 0.1)).search(start(), 200).visits
    assert np.count_nonzero(list(visits.values())) == 2  # ceil(200 ** 0.1)


def test_a_tree_that_is_kept_begins_with_its_visits():
    searcher = UctSearcher(BAO, reuse=True)
    state = start()
    before = searcher.search(state, 500)
    after = searcher.search(states.step(BAO, state, before.action), 1)
    assert sum(after.visits.values()) > 100
    fresh = UctSearcher(BAO).search(states.step(BAO, state, before.action), 1)
    assert sum(fresh.visits.values()) == 1


def test_the_final_move_by_mean():
    found = UctSearcher(BAO, final="mean").search(start(), 300)
    assert found.value == max(found.means.values())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"exploration": -1}, "exploration is at least 0"),
        ({"expand_after": 0}, "expand_after is at least 1"),
        ({"log_count": "leaf"}, "log_count is parent or root"),
        ({"final": "luck"}, "final is visits or mean"),
        ({"widening": (0, 1)}, "widening is"),
        ({"playout": True}, "has no kernel 'playout'"),
        ({"knowledge": np.zeros((1, 1))}, "has no kernel 'prior'"),
        ({"settings": {"x": 1}}, "takes no settings"),
        ({"tree_size": 8}, "tree_size is at least 1024"),
    ],
)
def test_settings_that_make_no_search(settings, message):
    with pytest.raises(GameParameterError, match=message):
        UctSearcher(BAO, **settings)


def nim_tree(left: int, simulations: int, transpositions: bool = False, **switches: float) -> np.ndarray:
    """The tree of the placeholder game, by the module as it stands, without generation; `switches` of its options."""
    frame = [
        ("left", np.int64),
        ("key", np.int64),
        ("side", np.int8),
        ("moves", np.int32, (2,)),
        ("order", np.int32, (2,)),
    ]
    frames = np.zeros(64, record_dtype(frame))
    states_ = np.zeros(1, record_dtype([("left", np.int64), ("to_move", np.int8)]))
    states_["left"] = left
    params = np.zeros(1, record_dtype([("none", np.int8)]))
    from asobiba.baselines.search.uct import _NO_SETTINGS, _NODE, _OPTIONS

    tree, options = np.zeros(4096, _NODE), np.zeros(1, _OPTIONS)
    options["exploration"], options["expand_after"], options["random_fresh"] = 1.0, 1, 1
    options["transpositions"] = transpositions
    for name, value in switches.items():
        options[name] = value
    generator = np.zeros(1, SAMPLER)
    uct_loops.load_root(states_, params, frames)
    uct_loops.simulate(
        frames, params, tree, np.zeros(64, np.int64), np.zeros(64, np.int8), generator, options,
        np.zeros(1, _NO_SETTINGS), np.zeros((1, 1), np.float32), np.zeros(64, np.int64), np.zeros(64, np.int32),
        simulations, 60, 1,
    )  # fmt: skip
    return tree


def children(tree: np.ndarray, at: int) -> list[int]:
    first = int(tree[at]["first"])
    return list(range(first, first + int(tree[at]["children"])))


def test_the_module_itself_plays_its_placeholder_game_well():
    for left in (4, 5, 7, 8):
        for transpositions in (False, True):
            tree = nim_tree(left, 2000, transpositions)
            assert tree[max(children(tree, 0), key=lambda k: tree[k]["visits"])]["move"] == left % 3


@pytest.mark.parametrize("transpositions", [False, True])
def test_positions_reached_in_several_ways_share_what_follows(transpositions):
    """One or two stones: after two moves three may be gone in two ways."""
    tree = nim_tree(9, 3000, transpositions)
    blocks: dict[tuple[int, int], set[int]] = {}
    ways: dict[tuple[int, int], int] = {}

    def walk(at: int, left: int, side: int) -> None:
        if tree[at]["children"]:
            blocks.setdefault((left, side), set()).add(int(tree[at]["first"]))
            ways[left, side] = ways.get((left, side), 0) + 1
        for child in children(tree, at):
            walk(child, left - int(tree[child]["move"]), 1 - side)

    walk(0, 9, 0)
    assert max(ways.values()) > 3
    assert (max(map(len, blocks.values())) == 1) is transpositions


class Stones:
    """A node of the plain twin: `total` from the side that moved into it, or the root's where that is asked for."""

    def __init__(self, left: int, move: int = 0):
        self.left, self.move, self.visits, self.total = left, move, 0, 0.0
        self.children: list[Stones] | None = None

    def rows(self) -> list[tuple]:
        return [(c.move, c.visits, c.total, c.rows()) for c in self.children or ()]


def twin(left, simulations, *, exploration, expand_after, urgency, root_count, cooperative, widen, power) -> Stones:
    """UCT as the papers say it, for stones; a playout is a draw."""
    root = Stones(left)
    for _ in range(simulations):
        path = [root]
        while (at := path[-1]).left > 0:
            if at.children is None:
                if at.visits < expand_after and at is not root:
                    break
                at.children = [Stones(at.left - k, k) for k in (1, 2) if k <= at.left]
            count = root.visits if root_count else at.visits
            allowed = at.children[: ceil(widen * (at.visits + 1) ** power)] if widen else at.children
            path.append(
                max(
                    allowed,
                    key=lambda c: (
                        c.total / c.visits + exploration * sqrt(log(max(1, count)) / c.visits) if c.visits else urgency
                    ),
                )
            )
        for ply, node in enumerate(path):
            won = 0.0 if at.left > 0 else 1.0 if (len(path) - 1 - ply) % 2 == 0 else -1.0
            if cooperative and ply % 2 == 0:
                won = -won  # the other side moved into it
            node.visits += 1
            node.total += won
    return root


M_UCT = {
    "exploration": 0.3, "expand_after": 11, "urgency": 199.0, "root_count": 1, "cooperative": 0, "widen": 0.0, "power": 0.0,
}  # fmt: skip


def test_trees_are_those_of_a_plain_twin():
    """M-UCT, and each of its switches the other way: every one matters."""
    found = []
    for change in (
        {}, {"cooperative": 1}, {"root_count": 0}, {"urgency": 0.0}, {"expand_after": 2}, {"widen": 0.3, "power": 0.3},
    ):  # fmt: skip
        switches = {**M_UCT, **change}
        tree = nim_tree(9, 700, random_fresh=0, playout=1, **switches)

        def rows(at: int, tree=tree) -> list[tuple]:
            return [
                (int(tree[c]["move"]), int(tree[c]["visits"]), float(tree[c]["total"]), rows(c))
                for c in children(tree, at)
            ]

        found.append(rows(0))
        assert found[-1] == twin(9, 700, **switches).rows(), change
    assert all(tree not in found[:k] for k, tree in enumerate(found))
