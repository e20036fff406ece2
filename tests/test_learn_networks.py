"""Networks as kernels: what PyTorch plays, without PyTorch."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from arena_tools import ENVIRONMENT
from network_tools import drawn_layers, run_network
from safetensors import safe_open

from asobiba.api.batch import Batch
from asobiba.core import GameParameterError, make_agent, registry, states
from asobiba.core.networks import LINEAR, RELU, TANH, NetworkBuilder
from asobiba.core.yaml_text import read_yaml
from asobiba.learn.kernels import load_network, network_of
from asobiba.learn.network_agent import NetworkAgent
from asobiba.learn.policy_file import PolicyFileError
from asobiba.learn.search import NetSearch


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
