"""Games as WebAssembly: the same bytes as here, in Node and in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import numpy as np
import pytest
from conftest import debian_program
from playground_tools import CHROMIUM
from wasm_tools import agent_games, in_node, random_games

from asobiba import game, games
from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.show import record_json
from asobiba.arena.store import Store
from asobiba.core import Ruleset, agent_declarations, make_agent
from asobiba.core.states import from_bytes, new_state, state_bytes
from asobiba.targets.wasm.commands import named_variants
from asobiba.targets.wasm.digest import WORK, blake2b
from asobiba.targets.wasm.objects import ArrayOf, Export, WasmError, link, object_code
from asobiba.targets.wasm.package import Variant, kernel_agents, write_game, write_package
from asobiba.targets.wasm.page import agent_table

TOYS = [one.name for one in games() if not one.package.startswith("asobiba.")]
FEW = ["toy_nim", "toy_push", "toy_village"]
"""Compiled in every run of the tests: in turns, of continuous actions at once, hidden with who acts said by the state."""
OURS = [one.name for one in games() if one.package.startswith("asobiba.")]


def written(folder: Path, name: str, agents: list[str] | None, variants: bool) -> dict[str, Ruleset]:
    """Writes a game into the package in `folder`; its rulesets by the names of the variants."""
    chosen = {"default": game(name).ruleset(), **(named_variants(game(name)) if variants else {})}
    missing: dict[str, str] = {}
    made = []
    for label, ruleset in chosen.items():
        here, without = kernel_agents(ruleset, agents)
        missing |= without
        made.append(Variant(label, ruleset, here))
    write_game(folder / "games" / name, made, missing)
    return chosen


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A package with tiny games."""
    folder = tmp_path_factory.mktemp("package")
    write_package(folder)
    for name in FEW:
        written(folder, name, None, variants=False)
    return folder


def compared(folder: Path, name: str, rulesets: dict[str, Ruleset], count: int) -> None:
    """Random games in Node beside the same ones here."""
    jobs = [{"kind": "random", "game": name, "variant": label, "count": count, "seed": 11} for label in rulesets]
    for label, answer in zip(rulesets, in_node(folder, jobs), strict=True):
        assert answer == random_games(rulesets[label], count, 11), label


def same_moves(folder: Path, name: str, ruleset: Ruleset, games: int, variant: str | None = None) -> list[list[str]]:
    """Games of every agent in a module beside the same ones here; what both played."""
    about = json.loads((folder / "games" / name / "game.json").read_text(encoding="utf-8"))
    (agents,) = (list(one["agents"]) for one in about["rulesets"] if one["name"] == (variant or "default"))
    assert "random" in agents
    job = {"kind": "agents", "game": name, "games": games, "seed": 40, **({"variant": variant} if variant else {})}
    jobs = [{**job, "agent": agent} for agent in agents]
    found = in_node(folder, jobs)
    for agent, answer in zip(agents, found, strict=True):
        assert answer == agent_games(ruleset, agent, games, 40), agent
    return found


def recorded(name: str, folder: Path, seed: int = 3) -> dict:
    """A game of random players as it stands in a league's store."""
    ruleset = game(name).ruleset()
    seats = ["random"] * ruleset.num_players
    match = Match.of(ruleset, seats, seed)
    with Store(folder / f"{name}.sqlite") as store:
        store.write([play_match(match, [make_agent(ruleset.game, text) for text in seats])])
        return record_json(store.record(match.key))


@pytest.mark.parametrize("name", FEW)
def test_random_games_have_the_bytes_of_native_ones(name, package):
    compared(package, name, {"default": game(name).ruleset()}, 200)


def test_agents_move_as_natively_and_matches_are_replayed(package, tmp_path):
    for name in FEW:
        same_moves(package, name, game(name).ruleset(), 5)
    matches = {name: recorded(name, tmp_path) for name in FEW}
    replays = [{"kind": "replay", "game": name, "match": match} for name, match in matches.items()]
    for name, answer in zip(FEW, in_node(package, replays), strict=True):
        assert answer["digest"] == matches[name]["digest"], name


def test_trained_policies_move_as_natively(tmp_path):
    """By themselves and with a search: in the module their weights are data."""
    torch = pytest.importorskip("torch")
    from asobiba.learn.networks import DensePolicy
    from asobiba.learn.policy_file import save_policy

    ruleset = game("toy_nim").ruleset()
    torch.manual_seed(3)
    spaces = (ruleset.observation_space, ruleset.action_space, lambda _: 0.0)
    policy = DensePolicy(*spaces, channels=dict(ruleset.layout.observation), width=24, depth=2)
    torch.nn.init.orthogonal_(policy.mlp_extractor.logits.weight, 1.0)
    file = tmp_path / "policy.safetensors"
    save_policy(policy, file)
    search = f"net_uct:policy={file},simulations=16"
    agents = ["random", f"sb3:{file}", search, f"{search},noise=1.0", f"{search},search=puct"]
    write_package(tmp_path)
    written(tmp_path, "toy_nim", agents, variants=False)
    found = same_moves(tmp_path, "toy_nim", ruleset, 20)
    assert len({repr(games) for games in found}) == len(agents)  # they differ from each other


def test_policies_with_convolutions_move_as_natively(tmp_path):
    torch = pytest.importorskip("torch")
    from asobiba.learn.networks import BoardPolicy
    from asobiba.learn.policy_file import save_policy

    ruleset = game("toy_nim").ruleset()
    torch.manual_seed(4)
    spaces = (ruleset.observation_space, ruleset.action_space, lambda _: 0.0)
    policy = BoardPolicy(*spaces, channels=dict(ruleset.layout.observation), width=8, depth=2)
    torch.nn.init.orthogonal_(policy.mlp_extractor.logits.weight, 1.0)
    file = tmp_path / "policy.safetensors"
    save_policy(policy, file)
    write_package(tmp_path)
    written(tmp_path, "toy_nim", ["random", f"sb3:{file}"], variants=False)
    found = same_moves(tmp_path, "toy_nim", ruleset, 20)
    assert found[0] != found[1]


def test_a_match_that_is_not_what_happened_is_a_named_error(package, tmp_path):
    match = recorded(FEW[0], tmp_path)
    wrong = [
        {**match, "digest": "0" * 16},
        {**match, "version": 9},
        {**match, "returns": [9.0] * len(match["returns"])},
    ]
    answers = in_node(package, [{"kind": "replay", "game": FEW[0], "match": one} for one in wrong])
    assert [answer["error"] for answer in answers] == ["ReplayError"] * 3


def test_a_damaged_module_is_a_named_error(package, tmp_path):
    broken = tmp_path / "package"
    shutil.copytree(package, broken)
    (module,) = (broken / "games" / FEW[0]).glob("*.wasm")
    job = {"kind": "random", "game": FEW[0], "variant": {}, "count": 1, "seed": 0}
    whole = module.read_bytes()
    found = []
    for content in (whole[:-9], whole[:200] + b"\x01" * 40 + whole[240:], whole[:-1] + bytes([whole[-1] ^ 1])):
        module.write_bytes(content)
        (answer,) = in_node(broken, [job])
        found.append(answer.get("error"))
    assert found == ["ModuleError"] * 3


def script(folder: Path, text: str) -> str:
    """The output of a module of JavaScript."""
    file = folder / "script.mjs"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run([debian_program("node", "nodejs"), str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_wrong_parameters_seats_actions_and_bytes_are_named_errors(package):
    printed = script(
        package,
        """
        import { openGame, open } from "./index.js";
        const game = await openGame("toy_nim");
        const rules = await game.make();
        const state = rules.newState(1);
        const wrong = [
          () => open(async () => new TextEncoder().encode("{")), () => game.make({ heaps: 1 }), () => game.make("chess"),
          () => game.make({ [Object.keys(game.manifest.defaults)[0]]: 77 }), () => rules.agent("stockfish"),
          () => rules.step(state, 99), () => rules.step(state, 0.5), () => rules.step(state, "first"),
          () => rules.observation(state, 7), () => rules.fromBytes(new Uint8Array(9)),
          () => rules.fromBytes(rules.toBytes(state).slice(0, -1)), () => state.get("queen"),
        ];
        const found = [];
        for (const one of wrong) { try { await one(); found.push("nothing"); } catch (error) { found.push(error.name); } }
        console.log(found.join(" "));
        """,
    )
    assert printed.split() == [
        "UnknownGame", "GameParameterError", "GameParameterError", "GameParameterError", "UnknownAgent",
        "IllegalAction", "IllegalAction", "IllegalAction", "GameParameterError", "StateBytesError",
        "StateBytesError", "StateBytesError",
    ]  # fmt: skip


def test_positions_are_exchanged_as_bytes(package):
    for name in FEW:
        ruleset = game(name).ruleset()
        data = script(
            package,
            f"""
            import {{ openGame }} from "./index.js";
            const rules = await (await openGame("{name}")).make();
            const bytes = rules.toBytes(rules.newState(-5));
            console.log(Buffer.from(rules.toBytes(rules.fromBytes(bytes))).toString("base64"));
            """,
        )
        state = from_bytes(ruleset, base64.b64decode(data))
        assert state_bytes(ruleset, state) == state_bytes(ruleset, new_state(ruleset, -5))


def test_the_digest_is_that_of_hashlib():
    rng = np.random.default_rng(1)
    for size in (0, 1, 127, 128, 129, 256, 1000):
        data = rng.integers(0, 256, size, np.uint8)
        for length in (8, 32, 64):
            out = np.zeros(64, np.uint8)
            blake2b(data, length, np.zeros(WORK, np.uint64), out)
            assert out[:length].tobytes() == hashlib.blake2b(data.tobytes(), digest_size=length).digest()


def _tangent(numbers, out):
    out[0] = np.tan(numbers[0])


def _sorted_copy(numbers, out):
    found = np.zeros(numbers.shape[0])
    for k in range(numbers.shape[0]):
        found[k] = numbers[numbers.shape[0] - 1 - k]
    out[:] = found


def test_what_calls_the_c_library_is_refused_and_arrays_come_from_the_arena():
    row = ArrayOf(np.dtype(np.float64))
    with pytest.raises(WasmError, match="tan"):
        link([object_code([Export("tangent", _tangent, (row, row))])], ["tangent"])
    assert link([object_code([Export("turned", _sorted_copy, (row, row))])], ["turned"]).startswith(b"\0asm")


def installed(package: Path, folder: Path) -> None:
    """The part of the package that npm would install: the files that `package.json` names."""
    target = folder / "node_modules" / "asobiba"
    for name in ["package.json", *json.loads((package / "package.json").read_text(encoding="utf-8"))["files"]]:
        if (package / name).is_dir():
            shutil.copytree(package / name, target / name)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(package / name, target / name)


def test_the_snippet_of_the_readme_runs(package, tmp_path):
    text = re.search(r"```js\n(.*?)```", (package / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    installed(package, tmp_path)
    # It speaks of a game that is compiled in the slow tests; a tiny one stands in for it here.
    moves = script(tmp_path, text[1].replace('"bao"', '"toy_nim"').replace('"greedy"', '"random"'))
    assert re.fullmatch(r"\d+ moves, \[ -?1, -?1 \] [0-9a-f]{16}", moves)


@pytest.mark.slow
def test_npm_packs_what_is_installed(package, tmp_path):
    command = [debian_program("npm", "npm"), "pack", "--silent", "--pack-destination", str(tmp_path), str(package)]
    archive = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout.split()[-1]
    shutil.unpack_archive(tmp_path / archive, tmp_path / "packed", "gztar")
    installed(package, tmp_path)
    packed, mine = tmp_path / "packed" / "package", tmp_path / "node_modules" / "asobiba"
    assert sorted(p.relative_to(packed) for p in packed.rglob("*")) == sorted(
        p.relative_to(mine) for p in mine.rglob("*")
    )


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


PAGE = """<!doctype html><title>replays</title><body><script type="module">
import { openGame } from "./index.js";
const found = {};
for (const match of await (await fetch("matches.json")).json()) {
  try {
    const rules = await (await openGame(match.game)).make(match.parameters);
    found[match.game] = rules.digest(rules.replay(match).at(-1).state);
  } catch (error) { found[match.game] = `${error.name}: ${error.message}`; }
}
document.body.innerHTML = "<pre>" + JSON.stringify(found) + "</pre>";
</script></body>"""


def in_chromium(folder: Path, matches: list[dict]) -> dict[str, str]:
    """The digests that these matches end with when a page of a plain file server replays them in headless Chromium."""
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    (folder / "matches.json").write_text(json.dumps(matches), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_port}/page.html"
        with TemporaryDirectory() as profile:
            done = subprocess.run(
                [
                    debian_program(*CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu",
                    f"--user-data-dir={profile}", "--virtual-time-budget=120000", "--timeout=120000", "--dump-dom", page,
                ],
                capture_output=True, text=True, timeout=300,
            )  # fmt: skip
        server.shutdown()
    shown = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert shown is not None, (done.stdout + done.stderr)[-2000:]
    return json.loads(shown[1])


@pytest.mark.slow
def test_a_browser_replays_matches_of_a_leagues_store(package, tmp_path):
    """Of the tiny games here; the test of every game replays one of its own."""
    folder = tmp_path / "site"
    shutil.copytree(package, folder)
    matches = [recorded(name, tmp_path) for name in FEW]
    assert in_chromium(folder, matches) == {match["game"]: match["digest"] for match in matches}


@pytest.mark.slow
def test_the_page_says_which_agents_are_compiled():
    assert (Path(__file__).parent.parent / "docs" / "wasm.md").read_text(encoding="utf-8").endswith(agent_table())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*TOYS} - {*FEW}))
def test_the_other_tiny_games_too(name, tmp_path):
    write_package(tmp_path)
    ruleset = written(tmp_path, name, None, variants=False)["default"]
    compared(tmp_path, name, {"default": ruleset}, 200)
    same_moves(tmp_path, name, ruleset, 5)
    match = recorded(name, tmp_path)
    (answer,) = in_node(tmp_path, [{"kind": "replay", "game": name, "match": match}])
    assert answer["digest"] == match["digest"]


PLAYS_IN = {"werewolf": "village_5_0.6"}
"""The variant that a policy plays, where it is not the default."""
LEARNED = [(one.name, agent) for one in games() for agent in ("ppo", "td") if agent in agent_declarations(one)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "agent"), LEARNED)
def test_published_policies_move_as_natively(name, agent, tmp_path):
    pytest.importorskip("torch")
    variant = PLAYS_IN.get(name, "default")
    ruleset = {"default": game(name).ruleset(), **named_variants(game(name))}[variant]
    portable = agent_declarations(game(name))[agent].portable
    text = f"{agent}:{portable}" if portable else agent
    found, _ = kernel_agents(ruleset, ["random", text])
    assert text in found
    write_package(tmp_path)
    write_game(tmp_path / "games" / name, [Variant(variant, ruleset, found)], {})
    same_moves(tmp_path, name, ruleset, 4, variant)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mini4wd", "mini4wd_race"])
def test_the_policy_and_the_controllers_with_a_tachometer_drive_as_natively(name, tmp_path):
    pytest.importorskip("torch")
    ruleset = named_variants(game(name))["tachometer"]
    found, _ = kernel_agents(ruleset, ["random", "ppo_junior_hill", "plan_cem", "predict", "playback"])
    write_package(tmp_path)
    write_game(tmp_path / "games" / name, [Variant("tachometer", ruleset, found)], {})
    same_moves(tmp_path, name, ruleset, 4, "tachometer")


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_every_game_and_variant_has_the_bytes_of_native_games(name, tmp_path):
    write_package(tmp_path)
    rulesets = written(tmp_path, name, None, variants=True)
    compared(tmp_path, name, {"default": rulesets["default"]}, 10_000)
    compared(tmp_path, name, {k: v for k, v in rulesets.items() if k != "default"}, 500)
    same_moves(tmp_path, name, rulesets["default"], 100)
    match = recorded(name, tmp_path)
    (answer,) = in_node(tmp_path, [{"kind": "replay", "game": name, "match": match}])
    assert answer["digest"] == match["digest"]
    assert in_chromium(tmp_path, [match]) == {name: match["digest"]}
