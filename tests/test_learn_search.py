"""Networks as kernels, search guided by them, and learning from it."""

from __future__ import annotations

import contextlib
import csv
import json
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from arena_tools import ENVIRONMENT
from asobiba_toys.labyrinth import GAME as LABYRINTH
from safetensors import safe_open

from asobiba.api.batch import Batch
from asobiba.core import GameParameterError, make_agent, registry, states
from asobiba.core.kernels import compiled
from asobiba.core.networks import LINEAR, RELU, TANH, Network, NetworkBuilder, forward
from asobiba.core.yaml_text import read_yaml
from asobiba.learn.kernels import load_network, network_of
from asobiba.learn.network_agent import NetworkAgent
from asobiba.learn.policy_file import PolicyFileError, read_tensors
from asobiba.learn.search import NetSearch, SelfPlay, visits_considered
from asobiba.learn.search_agent import NetAgent

MCTX = json.loads((Path(__file__).parent / "data" / "mctx_trees.json").read_text(encoding="utf-8"))


def table_network(logits: np.ndarray, values: np.ndarray) -> Network:
    """A network that looks the answer up: its observation is one 1 among zeros."""
    builder = NetworkBuilder(len(values))
    policy = builder.dense(0, logits.T, np.zeros(logits.shape[1]), LINEAR)
    return builder.build(policy, logits.shape[1], builder.dense(0, values[None], np.zeros(1), LINEAR))


def uniform_network(ruleset) -> Network:
    size, actions = ruleset.observation_size, ruleset.num_actions
    return table_network(np.zeros((size, actions), np.float32), np.zeros(size, np.float32))


@compiled()
def compute(layers, weights, observations, scratch, active, out):
    for i in range(observations.shape[0]):
        for k in range(observations.shape[1]):
            scratch[k] = observations[i, k]
        forward(layers, weights, scratch, active)
        out[i] = scratch


def run_network(network: Network, observations: np.ndarray) -> np.ndarray:
    scratch = np.zeros(network.size, np.float32)
    out = np.zeros((len(observations), network.size), np.float32)
    widest = max(network.layers["inputs"].max(), network.layers["outputs"].max()) + 1
    compute(network.layers, network.weights, observations, scratch, np.zeros(widest, np.int64), out)
    return out


def drawn_layers(generator: np.random.Generator, *sizes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (generator.normal(size=(o, i)).astype(np.float32), generator.normal(size=o).astype(np.float32))
        for i, o in pairwise(sizes)
    ]


def test_a_network_is_what_the_same_sums_in_order_are():
    generator = np.random.default_rng(1)
    (first, second, third) = drawn_layers(generator, 37, 24, 21, 5)
    builder = NetworkBuilder(37)
    last = builder.chain(0, [(*first, RELU), (*second, TANH), (*third, LINEAR)])
    network = builder.build(last, 4, last + 4)
    observations = (generator.random((50, 37)) < 0.3) * generator.integers(1, 5, (50, 37)).astype(np.int8)
    for seen, computed in zip(observations, run_network(network, observations), strict=True):
        x = seen.astype(np.float32)
        for (weight, bias), activation in zip((first, second, third), ("relu", "tanh", "linear"), strict=True):
            total = bias.copy()
            for k in range(len(x)):  # float32, input after input
                total = total + x[k] * weight[:, k]
            x = np.maximum(total, 0) if activation == "relu" else total
            if activation == "tanh":
                x = np.tanh(total.astype(np.float64)).astype(np.float32)
        np.testing.assert_array_equal(computed[last : last + 5], x)


def test_weights_that_have_decayed_to_nothing_are_nothing():
    generator = np.random.default_rng(2)
    (first, second) = drawn_layers(generator, 30, 16, 4)
    decayed = np.where(generator.random(first[0].shape) < 0.5, first[0], np.float32(1e-39) * first[0])
    unused = np.where(decayed == first[0], first[0], np.float32(0))
    assert (np.abs(decayed[decayed != first[0]]) < np.finfo(np.float32).tiny).sum() > 0  # denormal numbers
    answers = []
    for weight in (decayed, unused):
        builder = NetworkBuilder(30)
        last = builder.chain(0, [(weight, first[1], RELU), (*second, LINEAR)])
        answers.append(builder.build(last, 3, last + 3))
    np.testing.assert_array_equal(answers[0].weights, answers[1].weights)


@pytest.mark.parametrize("plain", [True, False])
def test_a_board_network_plays_in_compiled_code_what_pytorch_plays(plain, tmp_path):
    torch = pytest.importorskip("torch")
    from gymnasium.spaces import Box, Discrete

    from asobiba.learn.networks import BoardPolicy
    from asobiba.learn.policy_file import save_policy

    torch.manual_seed(4)
    channels = {"stones": (2, 3, 4), "to_move": (1,), "terrain": (3, 4), "hands": (2, 3)}  # 43 numbers on 3 x 4 cells
    spaces = Box(0, 1, (43,), np.int8), Discrete(24 if plain else 7)  # logits of cells, or of the whole board
    policy = BoardPolicy(*spaces, lambda _: 0.0, channels=channels, width=6, depth=3, kernel=3 if plain else 5)
    for weights in policy.parameters():
        torch.nn.init.normal_(weights, 0, 0.3)
    save_policy(policy, tmp_path / "policy.safetensors")
    network = load_network(tmp_path / "policy.safetensors")
    seen = (np.random.default_rng(0).random((100, 43)) < 0.4).astype(np.int8)
    with torch.no_grad():
        logits = policy.mlp_extractor.forward_actor(torch.as_tensor(seen).float()).numpy()
    computed = run_network(network, seen)[:, network.policy : network.policy + network.actions]
    np.testing.assert_allclose(computed, logits, atol=2e-5)
    assert np.abs(logits).max() > 1


def test_a_search_needs_a_value():
    ruleset = registry.game("toy_nim").ruleset()
    builder = NetworkBuilder(ruleset.observation_size)
    weight, bias = drawn_layers(np.random.default_rng(0), ruleset.observation_size, ruleset.num_actions)[0]
    with pytest.raises(GameParameterError, match="needs a network with a value"):
        NetSearch(ruleset, builder.build(builder.dense(0, weight, bias, LINEAR), len(bias)))


@pytest.mark.parametrize("policy_class", ["MlpPolicy", "DensePolicy", "CountsPolicy"])
def test_saved_policies_answer_as_pytorch_does(policy_class, tmp_path):
    torch = pytest.importorskip("torch")
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    from asobiba.learn.counts import CountsPolicy
    from asobiba.learn.networks import DensePolicy
    from asobiba.learn.policy_file import save_policy

    torch.manual_seed(3)
    ruleset = registry.game("toy_nim").ruleset()
    spaces = (ruleset.observation_space, ruleset.action_space, lambda _: 0.0)
    if policy_class == "DensePolicy":
        policy = DensePolicy(*spaces, channels=dict(ruleset.layout.observation), width=48, depth=3)
    elif policy_class == "CountsPolicy":
        policy = CountsPolicy(*spaces, channels=dict(ruleset.layout.observation), width=48, depth=2, steps=5)
        steps = policy.mlp_extractor.torso[:2](torch.full((1, ruleset.observation_size), 3.0))
        assert steps[0, :5].tolist() == [0.75, 0.5, 0.25, 0.0, 0.0]
    else:
        policy = MaskableActorCriticPolicy(*spaces, net_arch=[32, 16])
    save_policy(policy, tmp_path / "policy.safetensors")
    network = load_network(tmp_path / "policy.safetensors")
    observations = (np.random.default_rng(0).random((200, ruleset.observation_size)) < 0.5).astype(np.int8)
    with torch.no_grad():
        actor, critic = policy.mlp_extractor(torch.as_tensor(observations).float())
        logits, values = policy.action_net(actor).numpy(), policy.value_net(critic)[:, 0].numpy()
    computed = run_network(network, observations)
    np.testing.assert_allclose(computed[:, network.policy : network.policy + network.actions], logits, atol=2e-6)
    np.testing.assert_allclose(computed[:, network.value], values, atol=2e-6)


def test_a_policy_of_dense_layers_plays_without_pytorch_what_pytorch_plays(tmp_path):
    torch = pytest.importorskip("torch")
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    from asobiba.learn.agent import PolicyAgent
    from asobiba.learn.policy_file import save_policy

    torch.manual_seed(5)
    game = registry.game("animal_shogi")
    ruleset, path = game.ruleset(), tmp_path / "policy.safetensors"
    policy = MaskableActorCriticPolicy(ruleset.observation_space, ruleset.action_space, lambda _: 0.0, net_arch=[32])
    torch.nn.init.normal_(policy.action_net.weight)  # no two actions alike
    save_policy(policy, path)
    code = f"""
import sys
import numpy as np
from asobiba.api.batch import Batch
from asobiba.core import make_agent, registry
ruleset = registry.game("animal_shogi").ruleset()
agent = make_agent(ruleset.game, "sb3:{path}")
agent.reset(ruleset, 0, 0)
batch = Batch(ruleset, 64, threads=1)
batch.reset(seed=1)
for _ in range(9):
    batch.step(batch.sample_actions())
going = batch.masks.any(1)
views, masks = batch.states[going], batch.masks[going]
together = agent.act_batch(views, masks)
assert [agent.act(view, mask) for view, mask in zip(views, masks)] == together.tolist()
print("torch" in sys.modules, *together)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert told[0] == "False"
    batch = Batch(ruleset, 64, threads=1)
    batch.reset(seed=1)
    for _ in range(9):
        batch.step(batch.sample_actions())
    agent = PolicyAgent(policy)
    agent.reset(ruleset, 0, 0)
    going = batch.masks.any(1)
    assert agent.act_batch(batch.states[going], batch.masks[going]).tolist() == [int(word) for word in told[1:]]


MEMORY = "asobiba_toys.memory:LastHeaps"


def policy_with_memory(path: Path, kind: str) -> None:
    """A policy of Nim that reads `LastHeaps`: a trained one of dense layers, or convolutions of random weights."""
    import torch
    from gymnasium import spaces

    from asobiba.learn import networks, training
    from asobiba.learn.config import load_config
    from asobiba.learn.policy_file import save_policy

    game = registry.game("toy_nim")
    if kind == "DensePolicy":
        config = load_config(
            game, memory=MEMORY, policy="asobiba.learn.networks:DensePolicy", policy_kwargs={"width": 16}, total_steps=512,
            num_envs=8, threads=1, learner={"n_steps": 16, "batch_size": 64}, evaluation={"games": 20},
        )  # fmt: skip
        training.train(game, config, path.parent, progress=False)
        return
    ruleset = game.ruleset()
    size = ruleset.observation_size
    torch.manual_seed(4)
    policy = networks.BoardPolicy(
        spaces.Box(0, 1, (2 * size,), np.float32), ruleset.action_space, lambda _: 0.0,
        channels={**ruleset.layout.observation, "memory": (size,)}, width=8, depth=2, memory=MEMORY,
    )  # fmt: skip
    for weights in policy.mlp_extractor.parameters():
        torch.nn.init.normal_(weights, 0, 0.5)
    save_policy(policy, path)


@pytest.mark.parametrize("kind", ["DensePolicy", "BoardPolicy"])
def test_a_policy_with_a_memory_plays_without_pytorch_what_pytorch_plays(kind, tmp_path):
    torch = pytest.importorskip("torch")
    from asobiba_toys.memory import LastHeaps

    from asobiba.learn.agent import PolicyAgent
    from asobiba.learn.policy_file import load_policy

    path = tmp_path / "policy.safetensors"
    policy_with_memory(path, kind)
    policy, ruleset = load_policy(path), registry.game("toy_nim").ruleset(opening_plies=1)
    agent, theirs = make_agent(ruleset.game, f"sb3:{path}"), PolicyAgent(policy)
    assert isinstance(agent, NetworkAgent)
    assert agent.remembers
    many, generator, clear, told = make_agent(ruleset.game, f"sb3:{path}"), np.random.default_rng(1), 0, {}
    many.begin_rows(ruleset, 300, 0)
    for seed in range(300):
        state, memory, seat = states.new_state(ruleset, seed), LastHeaps(ruleset, 1), seed % 2
        for one in (agent, theirs):
            one.begin(ruleset, (seat,), (seed,))
        while not states.is_over(state):
            mask = states.action_mask(ruleset, state)
            action = int(generator.choice(np.flatnonzero(mask)))
            if state["to_move"] == seat:
                looked = memory.look(states.observation(ruleset, state, seat)[None])
                with torch.no_grad():
                    logits = policy.mlp_extractor.forward_actor(torch.as_tensor(looked))[0].numpy()
                best = np.sort(np.where(mask != 0, logits, -np.inf))[::-1]
                found, wanted = agent.act(state, mask), theirs.act(state, mask)
                if best[0] - best[1] > 1e-5:
                    assert found == wanted == int(np.where(mask != 0, logits, -np.inf).argmax())
                    clear += 1
                assert many.act_rows(np.array([state]), mask[None], np.array([seat]), np.array([seed]))[0][0] == found
                told.setdefault(state["heaps"].tobytes(), set()).add(looked.tobytes())
            state = states.step(ruleset, state, action)
    assert clear > 200
    assert max(map(len, told.values())) > 1  # one position, and several memories
    code = f"""
import sys
from asobiba.core import make_agent, registry, states
ruleset = registry.game("toy_nim").ruleset()
agent, state = make_agent(ruleset.game, "sb3:{path}"), states.new_state(ruleset, 0)
agent.begin(ruleset, (0,), (0,))
agent.act(state, states.action_mask(ruleset, state))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=ENVIRONMENT)


def test_a_file_does_not_name_a_memory_of_a_foreign_package(tmp_path):
    pytest.importorskip("torch")
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "policy.safetensors"
    policy_with_memory(path, "BoardPolicy")
    with safe_open(path, "np") as opened:
        header = opened.metadata()
    header["policy.yml"] = header["policy.yml"].replace(MEMORY, "os:system")
    save_file(load_file(path), path, metadata=header)
    with pytest.raises(PolicyFileError, match="names the memory 'os:system', which belongs to none of"):
        make_agent(registry.game("toy_nim"), f"sb3:{path}")


def dense_policies() -> list[tuple[str, Path, dict]]:
    """The published policies of dense layers, by their games, with the parameters of the games if they are not the usual ones."""
    found = []
    for path in sorted((Path(__file__).parent.parent / "baselines").glob("*/policies/**/policy.safetensors")):
        with contextlib.suppress(PolicyFileError):
            load_network(path)
            config = read_yaml(path.with_name("config.yml").read_text(encoding="utf-8"))
            parameters = {key: value for key, value in config["parameters"].items() if key == "holes"}
            found.append((path.relative_to(Path(__file__).parent.parent).parts[1], path, parameters))
    return found


def positions_met(ruleset, agent: NetworkAgent, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks of so many different positions: of random games, and of the agent's own with a random move in
    ten."""
    batch, generator = Batch(ruleset, 256, threads=1), np.random.default_rng(2)
    batch.reset(seed=1)
    found: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    while len(found) < count:
        going = np.flatnonzero(batch.masks.any(1))
        for row in going:
            found[batch.observations[row].tobytes()] = batch.observations[row].copy(), batch.masks[row].copy()
        actions = batch.sample_actions().copy()
        own = going[(going % 2 == 0) & (generator.random(len(going)) < 0.9)]
        actions[own] = agent.choose(batch.observations[own], batch.masks[own])
        batch.step(actions)
    observations, masks = zip(*list(found.values())[:count], strict=True)
    return np.array(observations), np.array(masks)


def positions_of_policies():
    """The published policies, and as many positions of each; small boards do not have so many different ones."""
    for name, path, parameters in dense_policies():
        yield pytest.param(name, path, parameters, 3000, id=f"{name}{parameters.get('holes', '')}-{path.parent.name}")
        if not parameters:
            yield pytest.param(name, path, {}, 100_000, marks=pytest.mark.slow, id=f"{name}-{path.parent.name}-many")


@pytest.mark.parametrize(("name", "path", "parameters", "count"), list(positions_of_policies()))
def test_published_networks_play_in_compiled_code_what_pytorch_plays(name, path, parameters, count):
    torch = pytest.importorskip("torch")
    from asobiba.learn.agent import PolicyAgent, load_policy

    # The text sb3:FILE gives compiled code for the game as it is usually played.
    agent = NetworkAgent(load_network(path)) if parameters else make_agent(registry.game(name), f"sb3:{path}")
    assert isinstance(agent, NetworkAgent)
    observations, masks = positions_met(registry.game(name).ruleset(**parameters), agent, count)
    played, policy, close = agent.choose(observations, masks), PolicyAgent(load_policy(path)), 0
    for first in range(0, count, 1000):
        rows = slice(first, first + 1000)
        with torch.no_grad():
            logits = policy.logits(torch.from_numpy(observations[rows]).float(), None).numpy()
        scores = np.where(masks[rows] != 0, logits, -np.inf)
        best = np.sort(scores, 1)[:, -2:]
        clear = best[:, 1] - best[:, 0] > 1e-5
        np.testing.assert_array_equal(played[rows][clear], scores.argmax(1)[clear])
        close += int((~clear).sum())
    assert close < count / 1000


def test_there_are_published_networks_of_dense_layers():
    assert {"animal_shogi", "bao"} <= {name for name, *_ in dense_policies()}


def test_an_evaluation_counts_what_would_be_illegal_without_the_mask(tmp_path):
    torch = pytest.importorskip("torch")
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    from asobiba.arena.evaluation import play_groups
    from asobiba.learn.agent import PolicyAgent
    from asobiba.learn.policy_file import save_policy

    torch.manual_seed(7)
    ruleset, path = registry.game("toy_nim").ruleset(), tmp_path / "policy.safetensors"
    policy = MaskableActorCriticPolicy(ruleset.observation_space, ruleset.action_space, lambda _: 0.0, net_arch=[16])
    for weights in policy.parameters():
        torch.nn.init.normal_(weights)  # no two actions alike, and no action always the best
    save_policy(policy, path)
    dense, opponent = make_agent(ruleset.game, f"sb3:{path}"), make_agent(ruleset.game, "random")
    assert isinstance(dense, NetworkAgent)
    found, wanted = (
        [game for group in play_groups(ruleset, one, opponent, 60, 3, record=True) for game in group]
        for one in (dense, PolicyAgent(policy))
    )
    for game, other in zip(found, wanted, strict=True):
        assert (game.identity, game.gain, game.checked, game.illegal) == (
            other.identity, other.gain, other.checked, other.illegal
        )  # fmt: skip
        np.testing.assert_array_equal(game.actions, other.actions)
    assert 0 < sum(game.illegal for game in found) < sum(game.checked for game in found)
    assert all(game.checked == game.decisions for game in found)


def test_weights_that_do_not_fit_together_are_refused():
    tensors = {"mlp_extractor.torso.0.weight": np.zeros((8, 4), np.float32)}
    tensors["mlp_extractor.torso.0.bias"] = np.zeros(8, np.float32)
    for rows in (7, 9):
        tensors["mlp_extractor.logits.weight"] = np.zeros((3, rows), np.float32)
        tensors["mlp_extractor.logits.bias"] = np.zeros(3, np.float32)
        tensors["value_net.weight"], tensors["value_net.bias"] = np.zeros((1, 8), np.float32), np.zeros(1, np.float32)
        with pytest.raises(PolicyFileError, match="does not fit"):
            network_of("asobiba.learn.networks:DensePolicy", {}, tensors)


def test_policies_are_read_without_pytorch(tmp_path):
    code = (
        "import sys; from asobiba.learn.search_agent import NetAgent; from asobiba.learn.kernels import load_network; "
        "print('torch' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


@pytest.mark.parametrize("search", MCTX["searches"], ids=lambda s: f"{s['simulations']}-{s['considered']}")
def test_gumbel_search_visits_what_mctx_visits(search):
    """mctx 0.0.71 (see tests/mctx_fixture.py): the same visits, values, policies and actions from all 64 rooms."""
    network = table_network(np.array(MCTX["logits"], np.float32), np.array(MCTX["values"], np.float32))
    ruleset = LABYRINTH.ruleset()
    searcher = NetSearch(ruleset, network, search["simulations"], considered=search["considered"])
    for room in range(64):
        state = states.new_state(ruleset, 0)
        state["room"] = room
        action, value = searcher.search(state)
        visits = searcher.visits
        assert [visits[k] for k in range(3)] == search["visits"][room]
        assert action == search["actions"][room]
        assert value == pytest.approx(search["values"][room], abs=2e-5)
        np.testing.assert_allclose(searcher.policy, search["policies"][room], atol=2e-5)


@pytest.mark.parametrize("puct", [False, True])
def test_a_search_without_knowledge_plays_nim_perfectly(puct):
    ruleset = registry.game("toy_nim").ruleset()
    searcher = NetSearch(ruleset, uniform_network(ruleset), 2000, puct=puct)
    for seed in range(3):
        state = states.new_state(ruleset, seed)
        while not states.is_over(state):
            nim_sum = int(np.bitwise_xor.reduce(state["heaps"]))
            action, _ = searcher.search(state)
            following = states.step(ruleset, state, action)
            if nim_sum:  # Bouton: who can leave a sum of 0 wins
                assert int(np.bitwise_xor.reduce(following["heaps"])) == 0
            state = following


def solved(ruleset, state) -> tuple[float, int]:
    """The value of a position for the player to move, and the number of plies to the end: the shortest win, else the
    longest line."""
    best = (-2.0, 0)
    for action in states.legal_actions(ruleset, state):
        following = states.step(ruleset, state, int(action))
        reward = float(following["rewards"][state["to_move"]])
        value, plies = reward, 1
        if not states.is_over(following):
            below, further = solved(ruleset, following)
            value, plies = (reward - below, further + 1)
        if value > best[0] or (value == best[0] and (plies < best[1]) == (value == 1)):
            best = (value, plies)
    return best


@pytest.mark.parametrize("puct", [False, True])
def test_a_search_that_reaches_the_end_knows_the_exact_value(puct):
    ruleset = registry.game("toy_nim").ruleset()
    searcher = NetSearch(ruleset, uniform_network(ruleset), 20000, puct=puct)
    for heaps in product(range(2), range(3), range(4)):
        if not any(heaps):
            continue
        state = states.new_state(ruleset, 0)
        state["heaps"] = heaps
        value, plies = solved(ruleset, state)
        action, found = searcher.search(state)
        assert found == value == (1 if np.bitwise_xor.reduce(heaps) else -1)
        assert sum(searcher.visits.values()) < 20000  # it stops when it knows
        assert searcher.policy[action] > 0
        following = states.step(ruleset, state, action)
        if not states.is_over(following):
            assert solved(ruleset, following)[0] == -value
        if value < 0:  # every line is known, and the longest one is played
            assert solved(ruleset, following)[1] + 1 == plies


@pytest.mark.parametrize("puct", [False, True])
@pytest.mark.parametrize("simulations", [32, 128])
def test_a_search_does_not_play_into_a_loss_that_it_has_seen(puct, simulations):
    ruleset = registry.game("animal_shogi").ruleset()
    searcher = NetSearch(ruleset, uniform_network(ruleset), simulations, puct=puct)
    generator, avoided = np.random.default_rng(6), 0
    for seed in range(150):
        state = states.new_state(ruleset, seed)
        for _ in range(int(generator.integers(4, 12))):
            if not states.is_over(state):
                state = states.step(ruleset, state, int(generator.choice(states.legal_actions(ruleset, state))))
        if states.is_over(state):
            continue
        action, value = searcher.search(state)
        mover, tree = int(state["to_move"]), searcher._trees
        root = tree.nodes[0, 0]
        edges = tree.edges[0, root["first"] : root["first"] + root["edges"]]
        children = tree.nodes[0, edges["child"]]
        lost = (
            (edges["child"] >= 0) & (children["exact"] != 0) & (children["value"] >= 1) & (children["mover"] != mover)
        )
        for edge in edges[lost]:  # the opponent does win: by brute force, as deep as the search says
            following = states.step(ruleset, state, int(edge["action"]))
            assert wins(ruleset, following, int(tree.nodes[0, edge["child"]]["plies"]))
        if lost.any() and not lost.all():
            assert action not in edges["action"][lost]
            avoided += 1
        if lost.all():
            assert value == -1
    assert avoided > 10


def wins(ruleset, state, plies: int) -> bool:
    """Whether the player to move wins within so many plies, whatever the other does."""
    mover = int(state["to_move"])
    for action in states.legal_actions(ruleset, state):
        following = states.step(ruleset, state, int(action))
        if states.is_over(following):
            found = following["rewards"][mover] > 0
        else:
            found = plies > 1 and all(
                reply["rewards"][mover] > 0
                if states.is_over(reply := states.step(ruleset, following, int(answer)))
                else wins(ruleset, reply, plies - 2)
                for answer in states.legal_actions(ruleset, following)
            )
        if found:
            return True
    return False


def test_targets_of_self_play_are_exact_near_the_end():
    ruleset = registry.game("toy_nim").ruleset()
    network = uniform_network(ruleset)
    games = SelfPlay(ruleset, network, games=32, simulations=64, threads=1, length=20, openings=3).play(network, 1)
    played = np.flatnonzero(games.lengths)  # some end within their opening
    assert len(played) > 16
    for g in played:
        last = games.lengths[g] - 1
        assert games.values[g, last] == 1  # who takes the last stone wins, and the search sees it
        assert games.policies[g, last].sum() == pytest.approx(1)
        if last:
            assert games.values[g, last - 1] == -1


def test_halving_gives_every_round_the_same_number_of_simulations():
    # 16 moves, 64 simulations: 16 once, 8 twice, 4 four times, 2 eight times.
    wanted = [0] * 16 + [1] * 8 + [2] * 8 + [k for k in range(3, 7) for _ in range(4)]
    wanted += [k for k in range(7, 15) for _ in range(2)]
    assert visits_considered(16, 64) == wanted


def test_games_of_self_play_do_not_depend_on_threads():
    ruleset = registry.game("toy_nim").ruleset()
    network = uniform_network(ruleset)
    settings = {"games": 9, "simulations": 8, "length": 20, "openings": 2}
    one, two = (SelfPlay(ruleset, network, threads=threads, **settings).play(network, 5) for threads in (1, 2))
    for alone, shared in zip(one, two, strict=True):
        np.testing.assert_array_equal(alone, shared)
    for g in range(9):  # the last mover takes the last stone and wins; what was before alternates
        moves = one.lengths[g]
        assert one.results[g, :moves].tolist() == [(-1.0) ** k for k in range(moves - 1, -1, -1)]
        np.testing.assert_allclose(one.policies[g, :moves].sum(1), 1, atol=1e-5)


def test_games_of_self_play_depend_on_their_seeds_alone():
    ruleset = registry.game("toy_nim").ruleset()
    generator = np.random.default_rng(4)
    weight = generator.normal(size=(ruleset.num_actions + 1, ruleset.observation_size)).astype(np.float32)
    builder = NetworkBuilder(ruleset.observation_size)
    network = builder.build(
        builder.dense(0, weight, np.zeros(len(weight), np.float32), LINEAR), len(weight) - 1, ruleset.observation_size + len(weight) - 1
    )  # fmt: skip
    settings = {"simulations": 8, "threads": 1, "length": 20, "openings": 2}
    whole = SelfPlay(ruleset, network, games=12, **settings).play(network, 5)
    assert len({whole.movers[g, : whole.lengths[g]].tobytes() for g in range(12)}) > 1
    part = SelfPlay(ruleset, network, games=4, **settings).play(network, 5 + 8)
    for name in whole._fields:
        for g in range(4):
            moves = () if name in ("lengths", "generators") else slice(0, whole.lengths[8 + g])
            np.testing.assert_array_equal(getattr(part, name)[g][moves], getattr(whole, name)[8 + g][moves])


@pytest.mark.parametrize("name", ["toy_kuhn", "toy_walk", "toy_village"])
def test_games_that_do_not_fit_are_refused_by_name(name):
    ruleset = registry.game(name).ruleset()
    with pytest.raises(GameParameterError, match=name):
        NetSearch(ruleset, uniform_network(registry.game("toy_nim").ruleset()))


def test_a_drawn_start_lies_above_every_tree():
    ruleset = registry.game("bao").ruleset(holes=4, start="random")
    assert ruleset.chance
    search = NetSearch(ruleset, uniform_network(ruleset), simulations=16)
    state = states.new_state(ruleset, 3)
    assert search.search(state)[0] in states.legal_actions(ruleset, state)


def share_of_winning_moves(network: Network) -> float:
    """In how many of the positions that Bouton's theorem calls won the likeliest legal move leaves a lost one."""
    ruleset = registry.game("toy_nim").ruleset()
    good = []
    for heaps in product(range(2), range(3), range(4)):
        if not np.bitwise_xor.reduce(heaps):
            continue
        state = states.new_state(ruleset, 0)
        state["heaps"] = heaps
        computed = run_network(network, states.observation(ruleset, state, 0)[None])[0]
        logits = computed[network.policy : network.policy + network.actions]
        chosen = np.where(states.action_mask(ruleset, state) != 0, logits, -np.inf).argmax()
        good.append(not np.bitwise_xor.reduce(states.step(ruleset, state, int(chosen))["heaps"]))
    return float(np.mean(good))


def small_run(**changes):
    from asobiba.learn.config import load_config

    settings = {
        "rounds": 25, "games": 64, "simulations": 8, "length": 20, "width": 32, "threads": 1, "batch_size": 64,
        "window": 4000, "learning_rate": [1e-2, 1e-3],
        "evaluation": {"games": 2, "every": 100, "simulations": [0, 8], "openings": 1},
    }  # fmt: skip
    return load_config(registry.game("toy_nim"), algorithm="gumbel_az", **{**settings, **changes})


def test_a_network_learns_nim(tmp_path):
    pytest.importorskip("torch")
    from asobiba.learn import expert

    path = expert.train(registry.game("toy_nim"), small_run(), tmp_path, say=lambda _: None)
    assert share_of_winning_moves(load_network(path)) > 0.8


def test_a_run_begins_with_the_network_beside_the_games_settings():
    pytest.importorskip("torch")
    from asobiba.learn.config import load_config, start_file
    from asobiba.learn.expert import Expert

    shogi = registry.game("animal_shogi")
    config = load_config(shogi, algorithm="gumbel_az", window=1000, games=2)
    expert = Expert(shogi, config)
    begun = read_tensors(start_file(shogi, config["start"]))[1]
    for name, tensor in expert.policy.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), begun[name])


def test_a_run_that_was_killed_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from asobiba.learn import expert

    class Killed(Exception):
        pass

    game, config = registry.game("toy_nim"), small_run(rounds=5, games=16, checkpoint_every=2)
    whole = expert.train(game, config, tmp_path / "whole", say=lambda _: None)
    play_and_learn = expert.Expert.play_and_learn

    def until_the_third(run):
        if run.round == 3:
            raise Killed
        return play_and_learn(run)

    monkeypatch.setattr(expert.Expert, "play_and_learn", until_the_third)
    with pytest.raises(Killed):
        expert.train(game, config, tmp_path / "stopped", say=lambda _: None)
    monkeypatch.undo()
    stopped = expert.train(game, config, tmp_path / "stopped", say=lambda _: None)
    first, second = read_tensors(whole)[1], read_tensors(stopped)[1]
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])
    rows = list(csv.DictReader((tmp_path / "stopped" / "learning.csv").open(encoding="utf-8")))
    assert [row["round"] for row in rows] == ["1", "2", "3", "4", "5"]


def drawn_network(ruleset, seed: int) -> Network:
    hidden, policy, value = (
        drawn_layers(np.random.default_rng(seed), *sizes)[0]
        for sizes in ((ruleset.observation_size, 24), (24, ruleset.num_actions), (24, 1))
    )
    builder = NetworkBuilder(ruleset.observation_size)
    features = builder.dense(0, *hidden, RELU)
    return builder.build(
        builder.dense(features, 0.2 * policy[0], policy[1], LINEAR), ruleset.num_actions, builder.dense(features, 0.05 * value[0], value[1], LINEAR)
    )  # fmt: skip


def positions_of(ruleset, count: int) -> list:
    found, generator = [], np.random.default_rng(3)
    for seed in range(count):
        state = states.new_state(ruleset, seed)
        for _ in range(int(generator.integers(0, 8))):
            following = states.step(ruleset, state, int(generator.choice(states.legal_actions(ruleset, state))))
            state = state if states.is_over(following) else following
        found.append(state)
    return found


@pytest.mark.parametrize("puct", [False, True])
def test_positions_that_were_met_before_are_not_computed_again(puct):
    ruleset = registry.game("animal_shogi").ruleset()
    network = drawn_network(ruleset, 1)
    usual, without = (NetSearch(ruleset, network, 48, puct=puct) for _ in range(2))
    memo = without._memo
    without._memo = memo._replace(
        **{name: getattr(memo, name)[:0] for name in ("seen", "logits", "values", "networks")}
    )
    for state in positions_of(ruleset, 40):
        while not states.is_over(state) and state["steps"] < 20:
            found = usual.search(state)
            assert found == without.search(state)
            assert usual.visits == without.visits
            np.testing.assert_array_equal(usual.policy, without.policy)
            state = states.step(ruleset, state, found[0])
    _, asked, computed = usual._memo.counts
    assert 0 < computed < asked / 2


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_an_agent_plays_side_by_side_what_it_plays_alone(noise):
    ruleset = registry.game("animal_shogi").ruleset()
    agent, alone = (NetAgent(drawn_network(ruleset, 2), simulations=24, noise=noise) for _ in range(2))
    found = positions_of(ruleset, 30)
    views, masks = np.array(found), np.array([states.action_mask(ruleset, state) for state in found])
    agent.begin_rows(ruleset, len(found), 11)
    rows = np.arange(len(found))
    moves = [np.zeros(len(found), int), np.zeros(len(found), int)]
    for some in (rows[::2], rows[1::2]):
        for chosen in moves:  # the second move of a game goes on with its noise
            chosen[some] = agent.act_rows(views[some], masks[some], views["to_move"][some], some)[0]
    for row, state in enumerate(found):
        alone.reset(ruleset, int(state["to_move"]), 11 + row)
        assert [alone.act(state, masks[row]) for _ in range(2)] == [int(chosen[row]) for chosen in moves]
    assert (moves[0] == moves[1]).all() == (noise == 0)
