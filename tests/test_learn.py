"""Training, its configuration, and trained policies as agents."""

from __future__ import annotations

import re
import resource
import shutil
import signal
import zipfile

import numpy as np
import psutil
import pytest
import torch
import yaml
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from asobiba.api.sb3 import SB3VecEnv
from asobiba.api.seating import Seating
from asobiba.arena.evaluation import Played, score_of, summary
from asobiba.cli import app
from asobiba.core import Agent, AsobibaError, IllegalAction, agent_declarations, make_agent
from asobiba.core.registry import game
from asobiba.learn import kernels, own_files, reporting, training
from asobiba.learn.agent import PolicyAgent, PolicyFileError, load_policy
from asobiba.learn.config import ConfigError, load_config, read_settings
from asobiba.learn.evaluation import evaluate
from asobiba.learn.imitation import demonstrate, imitate
from asobiba.learn.networks import BoardNetwork
from asobiba.learn.policy_file import PolicyFile, save_policy
from asobiba.learn.turning import Turns

SMALL = {
    "num_envs": 16,
    "threads": 1,
    "checkpoint_every": 256,
    "snapshot_every": 512,
    "learner": {"n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "evaluation": {"against": ["random"], "games": 20, "every": 1024},
}


def small_config(**changes):
    return load_config(game("toy_nim"), **{**SMALL, **changes})


def weights(folder):
    return load_file(folder / "policy.safetensors")


def test_an_empty_mapping_takes_back_what_the_games_own_settings_say(tmp_path):
    bao = game("bao")
    assert load_config(bao)["train_on"]
    (tmp_path / "plain.yml").write_text("train_on: {}\n")
    assert load_config(bao, tmp_path / "plain.yml")["train_on"] == {}
    assert load_config(bao, learner={})["learner"] == load_config(bao)["learner"]
    (tmp_path / "config.yml").write_text(yaml.safe_dump({**load_config(bao, tmp_path / "plain.yml"), "game": bao.id}))
    assert load_config(bao, tmp_path / "config.yml")["train_on"] == {}


def test_a_plain_network_does_not_take_the_memory_of_the_games_own():
    """Its file could not name it, so that nobody could play it."""
    with pytest.raises(ConfigError, match="set memory=''"):
        load_config(game("bao"), policy="mlp", policy_kwargs={})
    assert load_config(game("bao"), policy="mlp", policy_kwargs={}, memory="")["policy"] == "mlp"


class Stopped(Exception):
    pass


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "straight"
    results = training.train(game("toy_nim"), small_config(total_steps=2048), folder, progress=False)
    return folder, results


def test_a_run_leaves_policy_configuration_record_and_curves(straight):
    folder, results = straight
    names = {path.name for path in folder.iterdir()}
    assert {
        "policy.safetensors",
        "config.yml",
        "run.json",
        "curve.csv",
        "practice.csv",
        "curve.svg",
        "tensorboard",
    } <= names
    assert [seat.seat for result in results for seat in result.seats] == list(game("toy_nim").players)
    assert len((folder / "curve.csv").read_text().splitlines()) == 2
    assert list((folder / "tensorboard").rglob("events*"))
    again = load_config(game("toy_nim"), folder / "config.yml")  # the run's own settings make it again
    assert again == {k: v for k, v in yaml.safe_load((folder / "config.yml").read_text()).items() if k != "game"}


def test_a_stopped_run_ends_as_if_it_had_never_stopped(straight, tmp_path, monkeypatch):
    saves = []

    def save_and_stop(model, path):
        original(model, path)
        saves.append(path)
        if len(saves) == 3:
            raise Stopped

    original = training.save_checkpoint
    monkeypatch.setattr(training, "save_checkpoint", save_and_stop)
    config = small_config(total_steps=2048)
    with pytest.raises(Stopped):
        training.train(game("toy_nim"), config, tmp_path, progress=False)
    monkeypatch.undo()
    training.train(game("toy_nim"), config, tmp_path, progress=False)
    ours, theirs = weights(tmp_path), weights(straight[0])
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_folder_with_another_run_is_refused(straight):
    folder, _ = straight
    with pytest.raises(training.RunFolderError, match="another configuration"):
        training.train(game("toy_nim"), small_config(total_steps=512), folder, progress=False)
    with pytest.raises(training.RunFolderError, match="already holds a run"):
        training.train(game("toy_nim"), small_config(total_steps=2048), folder, resume=False, progress=False)


def test_games_leave_pytorch_its_number_of_threads():
    env = SB3VecEnv("toy_nim", 64, threads=1, seed=0)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        env.reset()
        env.step(env.action_masks().argmax(1))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
        env.close()


def test_mixed_company_shares_a_table():
    ruleset = game("werewolf").ruleset(players=5, seats=5)
    config = {"opponents": ["sample", "basic & sample & basic"], "num_envs": 4}
    one, table, _, other = training._opponents(ruleset, config)
    assert one.name == "sample"
    assert [agent.name for agent in table] == ["sample", "basic", "basic", "sample", "basic"]
    assert [agent.name for agent in other] == ["basic", "sample", "basic", "basic", "sample"]


def test_training_against_itself_takes_snapshots(tmp_path):
    config = small_config(total_steps=1024, opponents=["self", "random"])
    training.train(game("toy_nim"), config, tmp_path, progress=False)
    model = training.load_checkpoint(tmp_path / training.CHECKPOINT)
    snapshots = [a for a in model.get_env().games.opponents if isinstance(a, training.Snapshot)]
    assert len(snapshots) == 1
    assert snapshots[0].player is not None


def test_before_its_first_snapshot_self_plays_anything_in_a_game_of_continuous_actions():
    ruleset = game("curling").ruleset()
    snapshot = training.Snapshot()
    snapshot.reset(ruleset, 0, 3)
    actions = snapshot.act_batch(ruleset.zeros(50), np.zeros((50, 0), np.int8))
    assert actions.shape == (50, 3)
    assert all(ruleset.action_space.contains(action) for action in actions)
    assert len(np.unique(actions)) == actions.size


def test_one_game_of_a_package_may_have_settings_of_its_own():
    assert load_config(game("curling_discrete"))["policy"].endswith(":TargetPolicy")
    assert load_config(game("curling"))["policy"] == "mlp"


def test_training_beats_random_play(tmp_path):
    config = small_config(
        total_steps=16384, num_envs=64, learner={"n_steps": 32, "batch_size": 256, "learning_rate": 2e-3}
    )
    config["evaluation"]["games"] = 400
    config["openings"]["plies"] = 0  # of so small a game openings leave little
    results = training.train(game("toy_nim"), config, tmp_path, progress=False)
    assert results[-1].low > 0.55


def test_a_saved_policy_is_an_agent(straight):
    nim = game("toy_nim")
    agent = make_agent(nim, f"sb3:{straight[0] / 'policy.safetensors'}")
    ruleset = nim.ruleset()
    agent.reset(ruleset, 0, 0)
    from asobiba.core.states import action_mask, new_state, view_of

    state = new_state(ruleset, 0)
    mask = action_mask(ruleset, state)
    action = agent.act(view_of(ruleset, state, 0), mask)
    assert mask[action]
    views = np.repeat(np.array([state]), 5)
    assert (agent.act_batch(views, np.repeat(mask[None], 5, 0)) == action).all()


def test_packages_that_bring_games_bring_networks_too(tmp_path):
    from asobiba_toys.network import OwnPolicy

    ruleset, file = game("toy_nim").ruleset(), tmp_path / "own.safetensors"
    own = OwnPolicy(ruleset.observation_space, ruleset.action_space, lr_schedule=lambda _: 0.0)
    save_policy(own, file)
    loaded = load_policy(file)
    assert type(loaded) is OwnPolicy
    assert all((a == b).all() for a, b in zip(own.state_dict().values(), loaded.state_dict().values(), strict=True))

    class Stranger(OwnPolicy):
        pass

    Stranger.__module__ = "some_package.network"
    stranger = Stranger(ruleset.observation_space, ruleset.action_space, lr_schedule=lambda _: 0.0)
    with pytest.raises(PolicyFileError, match="belongs to none of asobiba"):
        save_policy(stranger, file)
    for name, message in (("asobiba.core.game:Ruleset", "is not a policy of"), ("os:system", "belongs to none of")):
        with safe_open(file, framework="pt") as opened:
            header = {**yaml.safe_load(opened.metadata()["policy.yml"]), "class": name}
        save_file(load_file(file), tmp_path / "bad.safetensors", metadata={"policy.yml": yaml.safe_dump(header)})
        with pytest.raises(PolicyFileError, match=message):
            load_policy(tmp_path / "bad.safetensors")


def test_a_policy_of_another_game_is_refused(straight):
    agent = PolicyAgent(load_policy(straight[0] / "policy.safetensors"))
    with pytest.raises(PolicyFileError, match="was trained on"):
        agent.reset(game("toy_kuhn").ruleset(), 0, 0)


@pytest.mark.parametrize("text", ["sb3:{}", "net_uct:policy={}"])
def test_the_spaces_of_a_policy_file_are_compared_before_its_weights_are_loaded(straight, text, monkeypatch):
    def load(*arguments):
        pytest.fail("the weights were loaded")

    monkeypatch.setattr(PolicyFile, "load", load)
    monkeypatch.setattr(kernels, "read_tensors", load)
    other = game("bao")
    agent = make_agent(other, text.format(straight[0] / "policy.safetensors"))
    with pytest.raises(AsobibaError, match=r"was trained on|reads"):
        agent.prepare(other.ruleset())


def test_files_that_hold_no_policy(tmp_path):
    with pytest.raises(FileNotFoundError, match="no policy file"):
        load_policy(tmp_path / "nothing.zip")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"not a zip")
    with pytest.raises(PolicyFileError, match="not a policy that Stable-Baselines3 saved"):
        load_policy(broken, trust=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("total_stepz: 3", "Did you mean 'total_steps'"),
        ("total_steps: many", "expected an integer"),
        ("learner: 3", "expected a mapping"),
        ("[1, 2]", "expected a mapping of hyperparameters"),
        ("a: [", "is not YAML"),
        ("policy: tree", "expected mlp, board or"),
        ("opponents: []", "at least one agent"),
        ("opponents: [self & random]", "'self & random' is not a list of agents"),
        ("num_envs: 0", "at least 1"),
        ("exploration: [0.1]", r"expected \[\] or \[from, to\]"),
        ("exploration: [0.1, 0.0]", "both above 0"),
        ("exploration: [0.2, 0.1]", "discrete actions"),
        ("train_on: {name: nim}", "expected {game: NAME"),
        ("learning_rate: 0.1", "(?s)belongs under learner.*--set learner.learning_rate=0.1"),
        ("games: 20", "belongs under evaluation"),
        ("game: asobiba/bao-v0", "is of asobiba/bao-v0, not of asobiba/toy_nim-v0"),
    ],
)
def test_bad_configuration_files(tmp_path, text, message):
    file = tmp_path / "bad.yml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(game("toy_nim"), file)


def test_single_values_are_set_by_name():
    found = read_settings(["learner.learning_rate=1e-4", "learner.n_steps=8", "total_steps=64", "opponents=[self]"])
    config = load_config(game("toy_nim"), **found)
    assert config["learner"]["learning_rate"] == 1e-4
    assert config["learner"]["n_steps"] == 8
    assert config["learner"]["batch_size"] == 1024
    assert (config["total_steps"], config["opponents"]) == (64, ["self"])
    for text in ("learner.learning_rate", "=3", "a=[", "seed=1 seed"):
        with pytest.raises(ConfigError):
            load_config(game("toy_nim"), **read_settings([text]))
    with pytest.raises(ConfigError, match="was given as a value"):
        read_settings(["learner=1", "learner.n_steps=8"])


def test_a_run_may_begin_with_the_weights_of_another(straight, tmp_path):
    policy = str(straight[0] / "policy.safetensors")
    model = training.new_model(game("toy_nim").ruleset(), small_config())
    training._start_from(model.policy, policy)
    theirs = weights(straight[0])
    assert all(torch.equal(ours, theirs[name]) for name, ours in model.policy.state_dict().items())
    with pytest.raises(ConfigError, match="another network"):
        training._start_from(
            training.new_model(game("toy_nim").ruleset(), small_config(policy_kwargs={"net_arch": [8]})).policy, policy
        )


def test_only_a_checkpoint_that_this_user_wrote_is_gone_on_with(straight, tmp_path, monkeypatch):
    """It holds pickles; one with a pickle of somebody else's is not read, whether its hash is missing, old or another key's."""
    folder = tmp_path / "given"
    shutil.copytree(straight[0], folder)
    checkpoint, mark = folder / training.CHECKPOINT, tmp_path / "ran"
    with zipfile.ZipFile(checkpoint) as archive:
        model, sealed = archive.read("model.zip"), archive.comment
    assert len(sealed) == 64
    assert own_files.key_file().stat().st_mode & 0o077 == 0
    evil = b"cbuiltins\nexec\n(Vopen(" + repr(str(mark)).encode() + b", 'w')\ntR."
    for comment in (b"", sealed, b"0" * 64):
        with zipfile.ZipFile(checkpoint, "w") as archive:
            archive.writestr("model.zip", model)
            archive.writestr("state.pkl", evil)
            archive.comment = comment
        with pytest.raises(training.RunFolderError, match="--trust"):
            training.train(game("toy_nim"), small_config(total_steps=2048), folder, progress=False)
    shutil.copy(straight[0] / training.CHECKPOINT, checkpoint)
    assert training.load_checkpoint(checkpoint).num_timesteps == 2048
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "of another user"))
    with pytest.raises(training.RunFolderError, match="--trust"):
        training.load_checkpoint(checkpoint)
    assert training.load_checkpoint(checkpoint, trust=True).num_timesteps == 2048
    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "value", "remark"),
    [
        (
            "observation_space",
            {"box": [50_000, 50_000], "dtype": "float32", "low": 0.0, "high": 1.0},
            "space of 50000 x",
        ),
        ("observation_space", {"box": [-1, 3], "dtype": "float32", "low": 0.0, "high": 1.0}, "space of -1 x"),
        ("action_space", {"discrete": 10**12}, "space of 1000000000000 numbers"),
        ("arguments", {"net_arch": [50_000, 50_000]}, "a larger network"),
    ],
)
def test_a_policy_file_is_checked_before_memory_is_asked_for(straight, tmp_path, name, value, remark):
    path = straight[0] / "policy.safetensors"
    with safe_open(path, framework="pt") as opened:
        header = yaml.safe_load(opened.metadata()["policy.yml"])
    file = tmp_path / "greedy.safetensors"
    save_file(load_file(path), file, metadata={"policy.yml": yaml.safe_dump({**header, name: value})})
    limit = resource.getrlimit(resource.RLIMIT_AS)
    held = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 30), limit[1]))
    try:
        with pytest.raises(PolicyFileError, match=remark):
            load_policy(file)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


def test_the_header_of_a_policy_file_does_not_unfold(straight, tmp_path):
    file = tmp_path / "deep.safetensors"
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + k)}: &{chr(98 + k)} [*{chr(97 + k)}, *{chr(97 + k)}]\n" for k in range(24)
    )
    save_file(load_file(straight[0] / "policy.safetensors"), file, metadata={"policy.yml": bomb})
    with pytest.raises(PolicyFileError, match="no aliases"):
        load_policy(file)


def test_an_interrupt_saves_a_checkpoint_and_the_next_start_goes_on(straight, tmp_path):
    said = []

    def say(line):
        said.append(line)
        if line.startswith("Interrupt"):
            signal.raise_signal(signal.SIGINT)

    class Interrupting(training._Snapshots):
        def _on_rollout_start(self):
            if self.num_timesteps == 1024:
                say("Interrupt")

    config = small_config(total_steps=2048)
    original, training._Snapshots = training._Snapshots, Interrupting
    try:
        with pytest.raises(training.Interrupted):
            training.train(game("toy_nim"), config, tmp_path, say=say)
    finally:
        training._Snapshots = original
    assert said[-1].startswith("Checkpoint saved at 1,024 of 2,048 steps")
    training.train(game("toy_nim"), config, tmp_path, say=say)
    assert said[-1].startswith("Going on from 1,024 of 2,048 steps")
    ours, theirs = weights(tmp_path), weights(straight[0])
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_the_report_says_reward_scores_speed_and_time_left(tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "_LINE_EVERY", 0.0)
    said = []
    config = small_config(total_steps=2048)
    training.train(game("toy_nim"), config, tmp_path, say=said.append)
    assert re.search(
        r"1,536 of 2,048 steps  reward -?[\d.]+  random \d+ %  [\d,]+ steps/s  about \d+ s left", "".join(said)
    )


def test_the_command_shows_returns_of_one_player_beside_the_best_classical_agent(tmp_path):
    done = CliRunner().invoke(
        app,
        ["train", "toy_walk", "-o", str(tmp_path / "run")]
        + [part for name in ("total_steps=256", "num_envs=4", "learner.n_steps=16", "evaluation.games=10", "seed=3")
           for part in ("--set", name)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "for 256 steps" in done.output
    assert yaml.safe_load((tmp_path / "run" / "config.yml").read_text())["seed"] == 3
    assert "the best classical agent" in done.output
    assert "score" not in done.output


def test_values_of_what_a_teacher_shows_are_its_games_results():
    # Nim pays at its end: a decision is worth the result, discounted by the player's own decisions that follow.
    nim = game("toy_nim").ruleset()
    seating = Seating(nim, 30, opponent="random", seat=None, autoreset="disabled", threads=1)
    shown = demonstrate(seating, 3, 0.5)
    ends = np.abs(shown.values) == 1.0
    assert ends.sum() == 30 * 2  # the last decision of each player
    assert shown.values[ends].sum() == 0.0
    exponents = -np.log2(np.abs(shown.values))
    assert np.array_equal(exponents, np.rint(exponents))
    assert exponents.max() >= 1
    assert (shown.masks[np.arange(len(shown.actions)), shown.actions] != 0).all()


class Asked(Agent):
    """Plays the first legal action, and must not be asked in the other seat's turn."""

    name = "asked"

    def reset(self, ruleset, seat, seed):
        self.seat = seat

    def act(self, view, legal):
        assert view["to_move"] == self.seat
        return int(legal.argmax())


def test_a_teacher_is_asked_in_its_own_turns_only():
    seating = Seating(game("toy_nim").ruleset(), 5, opponent=Asked(), seat=None, autoreset="disabled", threads=1)
    shown = demonstrate(seating, 3, 1.0)
    assert np.array_equal(shown.actions, shown.masks.argmax(1))


def test_decisions_are_learned_in_all_images():
    """An image of a decision, turned back, is the decision: what is seen, what is legal and what the teacher did."""
    small = game("gogo").ruleset(board_size=9)
    seating = Seating(small, 2, opponent="weak", seat=None, autoreset="disabled", threads=1)
    shown, turns = demonstrate(seating, 5, 0.9), Turns.of(small)
    rows = np.repeat(np.arange(20), 40)
    images = shown.taken(rows, turns, np.random.default_rng(0))
    assert (images.masks[np.arange(len(rows)), images.actions] == 1).all()
    assert np.array_equal(images.values, shown.values[rows])
    met = set()
    for k, row in enumerate(rows):
        back = [
            image for image in range(8)
            if np.array_equal(images.observations[k], shown.observations[row][turns.observation[image]])
            and np.array_equal(images.masks[k], shown.masks[row][turns.actions[image]])
            and turns.actions[image][images.actions[k]] == shown.actions[row]
        ]  # fmt: skip
        assert back
        met.update(back)
    assert met == set(range(8))


def test_imitation_comes_back_to_earlier_rounds(tmp_path):
    """Only the rounds before count: the first one is learned as without, the policy then differs."""
    curves = []
    for again in (0.0, 2.0):
        shown = {"teacher": "random", "decisions": 600, "again": again}
        config, folder = small_config(imitation=shown), tmp_path / str(again)
        folder.mkdir()
        ruleset = game("toy_nim").ruleset()
        imitate(training.new_model(ruleset, config), ruleset, config, folder)
        curves.append((folder / "imitation.csv").read_text().splitlines())
    assert len(curves[0]) == len(curves[1]) > 3
    assert curves[0][:3] == curves[1][:3]
    assert curves[0][3:] != curves[1][3:]


class Wrong(Asked):
    """Takes what it may not, where there is any such thing."""

    def act(self, view, legal):
        return int(legal.argmin())


def test_nobody_learns_from_a_teacher_who_breaks_the_rules():
    seating = Seating(game("toy_nim").ruleset(), 5, opponent=Wrong(), seat=None, autoreset="disabled", threads=1)
    with pytest.raises(IllegalAction, match=r"toy_nim; legal are \["):
        demonstrate(seating, 3, 1.0)


class Diary:
    """Tells how many decisions of a row it has seen before."""

    size = 1

    def __init__(self, ruleset, count):
        self.seen = np.zeros(count, np.int64)

    def look(self, observations, rows=None):
        at = np.arange(len(observations)) if rows is None else rows
        told = np.concatenate([observations, self.seen[at, None]], 1).astype(np.float32)
        self.seen[at] += 1
        return told


def test_every_player_of_a_game_that_is_shown_has_a_memory_of_its_own():
    nim = game("toy_nim").ruleset()
    seating = Seating(nim, 7, opponent="random", seat=None, autoreset="disabled", threads=1)
    diary = Diary(nim, 14)
    shown = demonstrate(seating, 3, 1.0, memory=diary)
    plain = demonstrate(Seating(nim, 7, opponent="random", seat=None, autoreset="disabled", threads=1), 3, 1.0)
    assert np.array_equal(shown.observations[:, :-1], plain.observations)
    count = shown.observations[:, -1]
    assert (count == 0).sum() == 14  # the first decision of each player
    assert diary.seen.sum() == len(count)
    assert abs(diary.seen.reshape(7, 2) @ np.array([1, -1])).max() <= 1  # they move in turn


def test_imitation_knows_shaping_in_games_of_one_player_only(tmp_path):
    config = small_config(shaping="asobiba.baselines.mini4wd.shaping:Promise")
    with pytest.raises(ConfigError, match="games of one player only"):
        imitate(None, game("toy_nim").ruleset(), config, tmp_path)


def game_of(gain, identity):
    return Played(gain, identity, 5, 0.0, 3)


def test_intervals_of_an_evaluation():
    """Groups that repeat another tell nothing new, and the group is the unit."""
    ruleset = game("toy_nim").ruleset()
    single = [(game_of(1.0 if k < 60 else -1.0, k),) for k in range(100)]
    # Wilson's interval of 60 in 100 is 0.502 to 0.691 (Brown, Cai and DasGupta 2001); with Student's quantile it is wider.
    low, high = score_of(single).interval()
    assert (round(low, 2), round(high, 2)) == (0.50, 0.69)
    assert score_of(single + single).interval() == pytest.approx((low, high))
    drawn = summary("x", "y", ruleset, [(game_of(0.0, 1), game_of(0.0, 2))] * 200)  # two games, played 200 times
    assert (drawn.games, drawn.distinct, drawn.draws, drawn.score) == (400, 2, 400, 0.5)
    assert drawn.high - drawn.low > 0.5
    pairs = [(game_of(1.0, 2 * k), game_of(-1.0, 2 * k + 1)) for k in range(50)]  # the first player always wins
    found = summary("x", "y", ruleset, pairs)
    assert [(seat.seat, seat.score) for seat in found.seats] == [("first", 1.0), ("second", 0.0)]
    assert found.seats[0].low > 0.9
    low, high = score_of([(one,) for pair in pairs for one in pair]).interval()
    assert found.high - found.low < 0.5 * (high - low)  # since each pair is shared


def test_enjoy_shows_games_of_a_run(straight, tmp_path):
    found = CliRunner().invoke(app, ["enjoy", str(straight[0]), "-n", "2", "--seed", "4"])
    assert found.exit_code == 0, found.output
    assert found.output.count("opening_plies=2") == 2
    assert "random - sb3:" in found.output  # the second game from the other seat
    stray = tmp_path / "policy.safetensors"
    shutil.copyfile(straight[0] / "policy.safetensors", stray)
    assert "give --game" in str(CliRunner().invoke(app, ["enjoy", str(stray)]).exception)
    assert CliRunner().invoke(app, ["enjoy", str(stray), "--game", "toy_nim"]).exit_code == 0


def test_an_evaluation_plays_every_seat(straight):
    nim = game("toy_nim")
    agent = PolicyAgent(load_policy(straight[0] / "policy.safetensors"))
    (result,) = evaluate(agent, nim.ruleset(), ["random"], 500, 0)
    assert result.opening_plies == nim.ruleset().usual_opening
    assert [seat.games for seat in result.seats] == [250, 250]
    assert result.games == 500
    assert result.wins == sum(seat.wins for seat in result.seats)
    assert 0 <= result.illegal <= 1
    assert "random" in agent_declarations(nim)


def test_board_network_shapes():
    network = BoardNetwork({"planes": (3, 4, 5), "hands": (2,)}, 40, width=8, depth=2, kernel=3)
    logits, value = network(torch.zeros(7, 62))
    assert network.board == (4, 5)
    assert logits.shape == (7, 40)
    assert value.shape == (7, 8)
    assert network.per_cell
    with pytest.raises(ValueError, match="two dimensions"):
        BoardNetwork({"hand": (4,)}, 4, width=8, depth=2, kernel=3)
