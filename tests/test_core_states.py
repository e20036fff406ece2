"""States, random numbers, the registry and the engine's cache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from copy import copy

import numba
import numpy as np
import pytest
from numba import types
from numba.core.funcdesc import default_mangler

import asobiba
from asobiba.core import (
    Game,
    GameParameterError,
    IllegalAction,
    Layout,
    StateBytesError,
    UnknownGame,
    compiled,
    game,
    random_below,
    random_legal,
    random_normal,
    random_u64,
    random_uniform,
    registry,
    seed_record,
    states,
)
from asobiba.core.cache import _CodeFiles
from asobiba.core.random import memory_keys, seed_keys
from asobiba.core.record import SAMPLER, record_dtype
from asobiba.core.symbols import keeps_layouts_apart, layout_name


def generator(seed=1, stream=0):
    record = np.zeros(1, SAMPLER)
    seed_record(record[0], seed, stream)
    return record


def test_generator_is_splitmix64():
    """Steele, Lea and Flood's generator; the numbers are those of the Java reference for seed 1234567."""
    record = np.zeros(1, SAMPLER)
    record["rng_key"] = 1234567
    drawn = [int(random_u64(record[0])) for _ in range(5)]
    assert drawn == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_draws_are_uniform():
    record = generator()
    below = np.bincount([random_below(record[0], 7) for _ in range(7000)], minlength=7)
    assert (np.abs(below - 1000) < 150).all()
    uniform = np.array([random_uniform(record[0]) for _ in range(4000)])
    assert 0 <= uniform.min() < uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.02
    normal = np.array([random_normal(record[0]) for _ in range(4000)])
    assert abs(normal.mean()) < 0.06
    assert abs(normal.std() - 1) < 0.05


@compiled()
def drawn(record, mask, draws):
    """Numbers of legal actions, drawn by compiled code."""
    found = np.empty(draws, np.int64)
    for k in range(draws):
        found[k] = random_legal(record[0], mask)
    return found


SIZES = [1, 3, 8, 9, 16, 31, 32, 40, 64, 65, 128, 150, 200, 203, 256, 257, 2100]


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(np.int8, size) for size in SIZES] + [(d, s) for d in (np.bool_, np.int32) for s in (9, 64, 203)],
)
def test_legal_draws_are_uniform(dtype, size):
    record = generator(size)
    chooser = np.random.default_rng(size)
    mask = (chooser.random(size) < 0.4).astype(dtype)
    mask[[0, -1]] = 1
    legal = np.flatnonzero(mask)
    draws = 400 * len(legal) if len(legal) < 30 else 3000
    assert random_legal(record[0], mask) in legal
    counts = np.bincount(drawn(record, mask, draws), minlength=size)
    assert counts[mask == 0].sum() == 0
    expected = draws / len(legal)
    assert np.abs(counts[legal] - expected).max() < 6 * np.sqrt(expected) + 6
    mask[:] = 0
    assert random_legal(record[0], mask) == -1


def test_keys_of_many_seeds():
    seeds = [0, 5, 2**63 + 1]
    for stream in (0, 1, 7):
        keys = seed_keys(seeds, stream)
        assert [int(k) for k in keys] == [int(generator(np.uint64(s), stream)["rng_key"][0]) for s in seeds]
    assert len(set(memory_keys([1, 1, 2], 0).tolist()) | set(memory_keys([1, 1, 2], 1).tolist())) == 4


def test_records_have_no_hidden_padding():
    dtype = record_dtype([("a", "i1"), ("b", "f8"), ("c", "i2", (3,)), ("d", "u4")])
    covered = sum(dtype[name].itemsize for name in dtype.names)
    assert covered == dtype.itemsize
    assert dtype.fields["b"][1] % 8 == 0


def test_fields_have_names_that_kernels_can_read_without_the_compiler():
    for name in ("take", "round", "data"):
        with pytest.raises(TypeError, match=f"rename field '{name}'"):
            record_dtype([("right", "i4"), (name, "i4")])


def test_values_of_a_wrong_kind_make_no_game():
    for name, wrong in (
        ("werewolf", {"players": [5]}),
        ("toy_nim", {"heaps": "many"}),
        ("tactics", {"map_seed": None}),
    ):
        with pytest.raises(GameParameterError, match=next(iter(wrong))):
            game(name).ruleset(**wrong)


def test_states():
    ruleset = game("toy_nim").ruleset()
    start = states.new_state(ruleset, 0)
    assert states.legal_actions(ruleset, start).tolist() == [0, 5, 6, 10, 11, 12]
    after = states.step(ruleset, start, 5)
    assert start["heaps"].tolist() == [1, 2, 3]
    assert after["heaps"].tolist() == [1, 1, 3]
    with pytest.raises(
        IllegalAction,
        match=r"second may not play 6 .*Legal actions: 0 \(a1\), 5 \(b1\), 10 \(c1\), 11 \(c2\), 12 \(c3\)\.",
    ) as error:
        states.step(ruleset, after, 6)
    assert "Position:" in str(error.value)


def test_state_bytes_are_checked():
    ruleset = game("toy_nim").ruleset()
    other = game("toy_nim").ruleset(heaps=4)
    data = states.state_bytes(ruleset, states.new_state(ruleset, 0))
    with pytest.raises(StateBytesError, match=r"'heaps': 3.*expected one of.*'heaps': 4"):
        states.from_bytes(other, data)
    with pytest.raises(StateBytesError, match="do not begin with"):
        states.from_bytes(ruleset, b"abc")
    with pytest.raises(StateBytesError, match="not from str"):
        states.from_bytes(ruleset, "abc")
    with pytest.raises(StateBytesError, match="cannot be read"):
        states.from_bytes(ruleset, b"asobiba-state {\nabc")
    with pytest.raises(StateBytesError, match="cannot be read"):
        states.from_bytes(ruleset, b"asobiba-state " + b"[" * 10**6 + b"\nabc")
    with pytest.raises(StateBytesError, match="after its header, these are"):
        states.from_bytes(ruleset, data[:-3])


def test_chance_is_not_foreseen():
    """A view holds no generator, so playing on from it tells nothing about the draws to come."""
    ruleset = game("toy_walk").ruleset()
    state = states.new_state(ruleset, 3)
    view = states.view_of(ruleset, state, 0)
    futures = {states.step(ruleset, states.resample(ruleset, view, 0, seed), 1).tobytes()[24:] for seed in range(40)}
    assert len(futures) == 2


def test_unknown_names():
    with pytest.raises(UnknownGame, match=r"No game is called 'toy_nin'\. Did you mean 'toy_nim'"):
        game("toy_nin")
    with pytest.raises(GameParameterError, match="Its parameters are: heaps, size, players"):
        game("toy_nim").ruleset(colour=1)
    with pytest.raises(GameParameterError, match="at least 1"):
        game("toy_nim").ruleset(heaps=0)
    assert game("asobiba/toy_nim-v0") is game("asobiba/ToyNim-v0") is game("toy_nim")


def test_register_a_game_of_a_notebook():
    import gymnasium
    import pettingzoo

    nim = game("toy_nim")
    mine = Game(
        name="toy_mine",
        version=3,
        title="Mine",
        layout=lambda: Layout(
            state=[("heaps", "i1", (2,))],
            parameters={"largest": 2},
            actions=4,
            observation={"heaps": (4,)},
            max_steps=9,
        ),
        rules=nim.rules,
    )
    asobiba.register_game(mine)
    env = gymnasium.make("asobiba/ToyMine-v3")
    env.reset(seed=1)
    env.step(0)
    pettingzoo.make("aec", "asobiba/toy_mine-v3").reset(seed=1)


def test_a_wrong_version_of_an_entry_point_is_refused(tmp_path):
    folder = tmp_path / "wrong-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[asobiba.games]\ntoy_wrong-v2 = asobiba_toys.nim:GAME\n")
    code = "import asobiba; print('toy_wrong' in asobiba.game_names()); asobiba.game('toy_wrong')"
    found = run(code, tmp_path)
    assert found.stdout.strip() == "True"
    assert "it must be called 'toy_nim'" in found.stderr


def run(code, *folders, arguments=(), **environment):
    path = os.pathsep.join([*map(str, folders), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
    )


def test_importing_is_light():
    code = (
        "import sys, asobiba\n"
        "heavy = {'torch', 'stable_baselines3', 'pyspiel', 'ray', 'pygame', 'thorvg_python', 'fontTools', 'imageio', 'matplotlib'}\n"
        "print(heavy & set(sys.modules), [m for m in sys.modules if m.startswith('asobiba.envs.')])"
    )
    assert run(code).stdout.strip() == "set() []"


@pytest.mark.parametrize(
    ("module", "use", "extra"),
    [
        ("stable_baselines3", "import asobiba.api.sb3", "sb3"),
        ("pyspiel", "import asobiba.api.openspiel", "openspiel"),
        ("thorvg_python", "from asobiba.api import render; render.rasterise('<svg/>')", "render"),
        ("imageio", "from asobiba.api import render; render.save_movie('x.gif', ['<svg/>'])", "render"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(module, use, extra):
    found = run(f"import sys; sys.modules[{module!r}] = None\n{use}")
    assert f"pip install 'asobiba[{extra}]'" in found.stderr


def test_without_the_compiler_the_bytes_are_the_same():
    code = (
        "import asobiba, hashlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    env = asobiba.make_vec(name, num_envs=3)\n"
        "    env.reset(seed=1)\n"
        "    digest = hashlib.sha256()\n"
        "    for _ in range(8):\n"
        "        env.step(env.sample_actions())\n"
        "        digest.update(env.states.tobytes())\n"
        "    print(digest.hexdigest())"
    )
    names = ("toy_kuhn", "toy_nim", "toy_walk")
    compiled, interpreted = run(code, arguments=names), run(code, arguments=names, NUMBA_DISABLE_JIT="1")
    assert compiled.stdout == interpreted.stdout != ""
    plain = run(code, arguments=names[:1], ASOBIBA_PLAIN_NUMBA="1")  # of every game in a slow test
    assert plain.stdout == compiled.stdout.splitlines(keepends=True)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.game_names())
def test_games_compiled_as_numba_does_have_the_same_bytes(name):
    code = (
        "import sys, asobiba, hashlib\n"
        "env = asobiba.make_vec(sys.argv[1], num_envs=8)\n"
        "env.reset(seed=1)\n"
        "digest = hashlib.sha256()\n"
        "for _ in range(40):\n"
        "    env.step(env.sample_actions())\n"
        "    digest.update(env.states.tobytes())\n"
        "print(digest.hexdigest())"
    ).replace("sys.argv[1]", repr(name))
    fast, plain = run(code), run(code, ASOBIBA_PLAIN_NUMBA="1")
    assert fast.stdout == plain.stdout != ""


def test_other_versions_of_numba_compile_as_numba_does():
    code = "import numba; numba.__version__ = '0.99.0'\nfrom asobiba.core import targets; print(targets.FAST)"
    assert run(code).stdout.strip() == "False"


def test_importing_changes_nothing_for_what_others_compile():
    code = (
        "import gc, os, numba\n"
        "from numba.core import cpu, ir, codegen, types\n"
        "def state():\n"
        "    return (gc.get_threshold(), dict(os.environ), types.Record.mangling_args, vars(ir.Scope).get('__deepcopy__'),\n"
        "        codegen.JITCPUCodegen._library_class, cpu.CPUContext.mangler, codegen.JITCodeLibrary._optimize_final_module)\n"
        "before = state()\n"
        "import asobiba.api.batch, asobiba.core.engine, asobiba.core.agents\n"
        "print(state() == before)"
    )
    assert run(code).stdout.strip() == "True"


def test_an_edited_rule_meets_no_stale_cache(tmp_path):
    package = tmp_path / "edited"
    package.mkdir()
    code = (
        "import asobiba, edited\n"
        "asobiba.register_game(edited.GAME)\n"
        "env = asobiba.make('edited'); env.reset(seed=0); print(env.step(0)[1])"
    )
    source = """
from asobiba.core import Game, Layout
from edited import rules
def layout():
    return Layout(state=[('x', 'i4')], actions=1, observation={'x': (1,)}, max_steps=3)
GAME = Game(name='edited', version=0, title='E', layout=layout, rules=rules, players=('one',), utility='single_agent')
"""
    rules = """
from asobiba.core import kernel
from edited import value
@kernel
def reset(s, p): s.x = 0
@kernel
def legal(s, p, mask): mask[0] = 1
@kernel
def step(s, p, action): s.rewards[0] = value.worth()
@kernel
def observe(s, p, player, out): out[0] = 1
"""
    (package / "__init__.py").write_text(source)
    (package / "rules.py").write_text(rules)
    for worth in ("0.25", "0.75"):
        (package / "value.py").write_text(f"from asobiba.core import kernel\n@kernel\ndef worth(): return {worth}\n")
        found = run(code, tmp_path, ASOBIBA_CACHE_DIR=str(tmp_path / "cache"))
        assert found.stdout.strip() == worth, found.stderr
    assert len(list((tmp_path / "cache").glob("edited-*"))) == 2


def test_what_was_compiled_ahead_is_not_compiled_again():
    done = run("import sys; from asobiba import cli; sys.argv[1:] = ['compile', 'toy_nim']; cli.main()")
    assert "bouton: " in done.stdout, done.stderr
    played = run("import asobiba; e = asobiba.make('toy_nim', opponent='bouton'); e.reset(seed=0)", ASOBIBA_QUIET="")
    assert (played.returncode, played.stderr) == (0, "")


def test_a_forked_child_says_what_is_wrong():
    code = (
        "import os, asobiba\n"
        "env = asobiba.make_vec('toy_nim', num_envs=600, opponent='self'); env.reset(seed=1)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try: env.step(env.sample_actions())\n"
        "    except RuntimeError as error: print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "env.step(env.sample_actions()); print('parent goes on')"
    )
    output = run(code).stdout
    assert "spawn" in output
    assert "parent goes on" in output


def test_the_hot_loops_count_no_references(tmp_path):
    """The machine code of the loops over games, and of all that they call, neither allocates nor counts references."""
    code = (
        "import asobiba\n"
        "from asobiba.core import game\n"
        "from asobiba.api import Batch, Seating, batch\n"
        "from asobiba.core.engine import agent_engine_for\n"
        "ruleset = game('toy_kuhn').ruleset()\n"
        "b = Batch(ruleset, 4); b.reset(1); b.sample_actions()\n"
        "s = Seating(ruleset, 4); s.reset(1)\n"
        "agent = agent_engine_for(ruleset.game, *[a.policy for a in s.opponents])\n"
        "for loop in (batch._sample_games, ruleset.engine.run_range, agent.run_range):\n"
        "    (text,) = loop.inspect_llvm().values()\n"
        "    print(text.count('define '), text.count('NRT_'))\n"
    )
    found = run(code, ASOBIBA_CACHE_DIR=str(tmp_path))
    numbers = [int(word) for word in found.stdout.split()]
    assert len(numbers) == 6, found.stderr
    assert min(numbers[::2]) >= 1
    assert numbers[1::2] == [0, 0, 0]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_step_allocates_does_not_depend_on_the_number_of_games(threads):
    code = (
        "import asobiba\n"
        "from asobiba.core import game\n"
        "from asobiba.api import Batch\n"
        "from numba.core.runtime import _nrt_python, rtsys\n"
        "def allocations(games):\n"
        f"    b = Batch(game('toy_kuhn').ruleset(), games, threads={threads}); b.reset(1); b.step(b.sample_actions())\n"
        "    before = rtsys.get_allocation_stats().alloc\n"
        "    for _ in range(10):\n"
        "        b.step(b.sample_actions())\n"
        "    return rtsys.get_allocation_stats().alloc - before\n"
        "_nrt_python.memsys_enable_stats()\n"
        "print(allocations(2), allocations(500))\n"
    )
    few, many = map(int, run(code).stdout.split())
    assert few == many > 0  # the headers of the arrays that a call is given


def test_names_of_ids():
    for name, ids in registry.game_ids().items():
        assert (ids.pettingzoo, ids.gymnasium) == (game(name).id, game(name).gymnasium_id)
        assert re.fullmatch(r"asobiba/[A-Za-z0-9]+-v\d+", ids.gymnasium)


def test_processes_that_compile_at_once_keep_their_code_apart(tmp_path):
    # Both look what there is before either writes; with numbered files one would load the other's code.
    one, other, edited = (_CodeFiles(str(tmp_path), "run", stamp) for stamp in ("source", "source", "edited source"))
    assert one.load("8x8") is None
    assert other.load("9x9") is None
    one.save("8x8", "code for 8x8")
    other.save("9x9", "code for 9x9")
    for files in (one, other):
        assert (files.load("8x8"), files.load("9x9")) == ("code for 8x8", "code for 9x9")
    assert edited.load("8x8") is None
    engine = game("toy_nim").ruleset().engine
    assert isinstance(engine.run._cache._cache_file, _CodeFiles)


def test_functions_of_other_records_have_other_names_in_every_process():
    # Two processes may give one number to the types of two records; whoever loads the code of both must tell them apart.
    one, other = (numba.from_dtype(np.dtype([("cells", np.int8, (size, size))], align=True)) for size in (8, 10))
    one, other = copy(one), copy(other)
    one._code = other._code = 7
    takes = [(types.Array(record, 1, "C"),) for record in (one, other)]
    plain = {default_mangler("run", arguments) for arguments in takes}
    assert len(plain) == 1, "Numba's own names are the same"
    assert not keeps_layouts_apart(plain.pop().encode())
    names = {layout_name("run", arguments) for arguments in takes}
    assert len(names) == 2
    assert keeps_layouts_apart(" ".join(names).encode())
    assert not keeps_layouts_apart((names.pop() + default_mangler("run", takes[0])).encode())


def test_a_thread_waits_for_a_module_that_another_one_imports(tmp_path):
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from asobiba.core.cache import load_generated\n"
        "source = 'import time; time.sleep(0.3); ready = True'\n"
        "with ThreadPoolExecutor(2) as pool:\n"
        "    print(all(pool.map(lambda _: hasattr(load_generated('waiting', [], source), 'ready'), range(2))))\n"
    )
    assert run(code, ASOBIBA_CACHE_DIR=str(tmp_path)).stdout.strip() == "True"
