"""Games on another processor: `python tests/aarch64.py [GAME ...]` plays random games natively and on an emulated ARM.

The LLVM module that Numba makes for this machine becomes an object for aarch64, is linked with a few lines of C, and runs
under qemu. A hash over every byte of states, masks, actions and observations after each step must be the same, and the
assembly must have no fused multiply-add. Debian's packages: qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from numba import njit, typeof, types
from numba.core.codegen import CPUCodeLibrary

from asobiba import game, game_names
from asobiba.core.laws import close_step, has_ended
from asobiba.core.random import Stream, random_legal, random_uniform, seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.targets import LEAN, part

TRIPLE = "aarch64-unknown-linux-gnu"
PACKAGES = {"qemu-aarch64": "qemu-user", "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"}
GAMES, STEPS = 6, 60
FUSED = re.compile(r"^\s+(fn?m(?:add|sub)|fml[as])\s", re.M)
_GAME, _SAMPLER, _PRIME = int(Stream.GAME), int(Stream.SAMPLER), np.uint64(1099511628211)

MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef int64_t word;
extern int play(uint64_t *, void **, TYPES) __asm__("NAME");
static _Alignas(64) unsigned char memory[SIZE], params[] = {PARAMS};
int main(void) {
    for (word seed = 0; seed < GAMES; seed++) {
        uint64_t result = 0;
        void *error = 0;
        memset(memory, 0, sizeof memory);
        memcpy(memory + PLACE, params, sizeof params);
        if (play(&result, &error, ARGUMENTS)) return 1;
        printf("%016llx\\n", (unsigned long long)result);
    }
    return 0;
}
"""


@part(**LEAN)
def hashed(found, data):
    for k in range(data.shape[0]):
        found = (found ^ np.uint64(data[k])) * _PRIME
    return found


def player(ruleset):
    """`play(states, params, masks, seen, actions, samplers, their bytes ..., seed)`: plays a game and returns the hash."""
    rules = ruleset.game.rules
    reset, step, observe, legal = rules.reset, rules.step, rules.observe, getattr(rules, "legal", None)
    joint, discrete, seats = ruleset.simultaneous, ruleset.discrete, ruleset.num_players
    whole, rows = bool(ruleset.actions_shape), seats if joint else 1
    box = ruleset.action_space
    low, high = (np.zeros(1), np.ones(1)) if discrete else (box.low.ravel(), box.high.ravel())

    @part(**LEAN)
    def choose(s, p, masks, actions, sampler):
        if discrete:
            if joint:
                legal(s, p, masks)
                for k in range(seats):
                    actions[k] = random_legal(sampler, masks[k])
            else:
                legal(s, p, masks)
                actions[0] = random_legal(sampler, masks)
        else:
            for row in range(rows):
                numbers = actions[row] if joint else actions
                for k in range(low.shape[0]):
                    numbers[k] = low[k] + (high[k] - low[k]) * random_uniform(sampler)

    @njit(error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def play(states, params, masks, seen, actions, samplers, b0, b1, b2, b3, b4, b5, seed):
        s, p, sampler = states[0], params[0], samplers[0]
        seed_record(s, seed, _GAME)
        seed_record(sampler, seed, _SAMPLER)
        reset(s, p)
        found = np.uint64(14695981039346656037)
        for _ in range(STEPS):
            if has_ended(s):
                break
            choose(s, p, masks, actions, sampler)
            for k in range(s.rewards.shape[0]):
                s.rewards[k] = 0
            if whole:
                step(s, p, actions)
            else:
                step(s, p, actions[0])
            close_step(s, p)
            for seat in range(seats):
                observe(s, p, seat, seen)
                found = hashed(found, b3)
            found = hashed(hashed(hashed(found, b0), b2), b4)
        return found

    return play


def arrays_of(ruleset) -> list[np.ndarray]:
    """The input of `play`, without the bytes."""
    return [
        ruleset.zeros(), ruleset.params.copy(), np.zeros(ruleset.mask_shape if ruleset.discrete else (1,), np.int8),
        np.zeros(ruleset.observation_size, ruleset.observation_space.dtype),
        np.zeros(ruleset.actions_shape or (1,), ruleset.action_dtype), np.zeros(1, SAMPLER),
    ]  # fmt: skip


def words(array: np.ndarray, place) -> list:
    """An array as Numba passes it: owner, parent, entries, bytes of one, address, shape, strides."""
    return [0, 0, array.size, array.itemsize, place, *array.shape, *array.strides]


def native(compiled, ruleset) -> list[str]:
    """The hashes on this machine."""
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    found = []
    for seed in range(GAMES):
        arrays = arrays_of(ruleset)
        arrays += [array.view(np.uint8).reshape(-1) for array in arrays]
        given = [word for array in arrays for word in words(array, array.ctypes.data)]
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * (3 + len(given)))(address)
        result, error = ctypes.c_uint64(), ctypes.c_void_p()
        assert function(ctypes.addressof(result), ctypes.addressof(error), *given, seed) == 0
        found.append(f"{result.value:016x}")
    return found


@contextmanager
def portable_code() -> Iterator[dict[str, str]]:
    """The modules that are compiled meanwhile, by name, as they are before the code generator works on them: it leaves
    instructions of this machine in them."""
    codes: dict[str, str] = {}
    generate = CPUCodeLibrary._finalize_final_module

    def keep(library):
        codes[library.name] = str(library._final_module)
        generate(library)

    CPUCodeLibrary._finalize_final_module = keep
    try:
        yield codes
    finally:
        CPUCodeLibrary._finalize_final_module = generate


def emulated(code: str, compiled, ruleset, folder: Path) -> list[str]:
    """The hashes of the same module on an ARM."""
    text = re.sub(r"^target (?:triple|datalayout) = .*$", "", code, flags=re.M)
    module = llvm.parse_assembly(re.sub(r'"(?:target-cpu|target-features|tune-cpu)"="[^"]*"', "", text))
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=2, reloc="static", codemodel="default")
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    assert not FUSED.search(machine.emit_assembly(module)), "the compiler has contracted products and sums"
    (folder / "play.o").write_bytes(machine.emit_object(module))
    arrays, places = arrays_of(ruleset), [0]
    for array in arrays:
        places.append(-(-(places[-1] + array.nbytes) // 64) * 64)
    given = [
        word
        for view in (arrays, [array.view(np.uint8).reshape(-1) for array in arrays])
        for array, place in zip(view, places)
        for word in words(array, f"(word)(memory + {place})")
    ]
    main = MAIN
    for name, value in {
        "NAME": compiled.fndesc.llvm_func_name, "GAMES": GAMES, "SIZE": places[-1], "PLACE": places[1],
        "TYPES": ", ".join(["word"] * (len(given) + 1)), "ARGUMENTS": ", ".join(map(str, [*given, "seed"])),
        "PARAMS": ",".join(map(str, ruleset.params.view(np.uint8).tolist())),
    }.items():  # fmt: skip
        main = main.replace(name, str(value)) if name != "NAME" else main.replace('"NAME"', f'"{value}"')
    (folder / "main.c").write_text(main, encoding="utf-8")
    parts = [folder / "main.c", folder / "play.o"]
    subprocess.run(["aarch64-linux-gnu-gcc", "-O1", "-static", "-o", folder / "play", *parts, "-lm"], check=True)
    done = subprocess.run(["qemu-aarch64", folder / "play"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def compare(name: str) -> tuple[list[str], list[str]]:
    """The hashes of random games of a game on this machine and on an ARM."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    ruleset = game(name).ruleset()
    play, arrays = player(ruleset), arrays_of(ruleset)
    kinds = [typeof(array) for array in (*arrays, *(array.view(np.uint8).reshape(-1) for array in arrays))]
    signature = types.uint64(*kinds, types.int64)
    with portable_code() as codes:
        play.compile(signature)
    compiled = play.overloads[signature.args]
    with tempfile.TemporaryDirectory() as folder:
        return native(compiled, ruleset), emulated(codes[compiled.library.name], compiled, ruleset, Path(folder))


def main(names: list[str]) -> None:
    if len(names) != 1:  # a process each: the functions of two games have the same names
        for name in names or game_names():
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    here, there = compare(names[0])
    if here != there:
        raise SystemExit(f"{names[0]}: {len(here)} games DIFFER: {' '.join(here)} here, {' '.join(there)} there")
    print(f"{names[0]}: {len(here)} games equal: {' '.join(here)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
