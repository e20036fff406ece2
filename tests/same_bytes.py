"""The same games in processes of other kinds, on an emulated ARM and as WebAssembly.

`python tests/same_bytes.py write PAGE [GAME ...]` compares all of them and writes their digests into the table of a page;
`python tests/same_bytes.py lines JSON` is what runs in those processes: it prints digests of games and agents, and replays
matches that another process has recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from asobiba import digests, game, game_names
from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.replay import check_record
from asobiba.core import Agent

KINDS = {
    "as it is": {},
    "a C library without FMA and AVX": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX"},
    "a processor without extensions": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "no compiler": {"NUMBA_DISABLE_JIT": "1"},
}
"""Environments in which the same code must print the same lines."""


class Drawn(Agent):
    """Actions drawn from the whole box, or the legal ones."""

    name = "drawn"

    def reset(self, ruleset, seat, seed):
        self._ruleset, self._draw = ruleset, np.random.default_rng([seed % 2**32, seat])

    def act(self, view, legal):
        if self._ruleset.discrete:
            return int(self._draw.choice(np.flatnonzero(legal)))
        box = self._ruleset.action_space
        return self._draw.uniform(box.low, box.high).astype(box.dtype)


def record_matches(name: str, count: int) -> list:
    """Matches of agents that run in Python, of a game of chance and floats."""
    ruleset = game(name).ruleset()
    return [
        play_match(Match.of(ruleset, ["drawn"] * ruleset.num_players, seed), [Drawn() for _ in ruleset.players])
        for seed in range(count)
    ]


def found(names, records=None, **options) -> list[str]:
    """The lines of this process."""
    for record in pickle.loads(Path(records).read_bytes()) if records else ():
        check_record(record)
    return list(digests.lines(names, **options))


def found_in(kind: str, names, **options) -> list[str]:
    """The lines of a process of this kind."""
    text = json.dumps({"names": names, **options})
    environment = {
        **os.environ,
        **KINDS[kind],
        "ASOBIBA_QUIET": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, __file__, "lines", text], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


GAMES, STEPS, ON_WASM = 1000, 200, 10_000


def found_in_all(name: str, records: str) -> list[str]:
    """The lines of a game and its agents, which processes of all kinds print."""
    given = {"games": GAMES, "steps": STEPS, "agents": True}
    expected = found_in("as it is", [name], **given)
    for kind in ("a C library without FMA and AVX", "a processor without extensions"):
        assert found_in(kind, [name], records=records, **given) == expected, (name, kind)
    assert found_in("as it is", [name], threads=2, **given) == expected, (name, "two threads")
    few = {"games": 2, "steps": 20, "agents": False}
    assert found_in("no compiler", [name], **few) == found_in("as it is", [name], **few), (name, "no compiler")
    return expected


def records_file(folder: Path) -> str:
    """Matches of curling, with and without its ends, on file."""
    path = folder / "records"
    path.write_bytes(pickle.dumps([*record_matches("curling_end", 4), *record_matches("curling", 1)]))
    return str(path)


HEAD = "| game | random games | agents | a game of each | on an ARM | WebAssembly |\n|---|---|--:|---|---|---|\n"


def cells_of(lines: list[str]) -> list[str]:
    """A game's row of the table: the digest of its random games, the number of agents, the digest of their lines."""
    games, *agents = lines
    together = hashlib.blake2b("\n".join(agents).encode(), digest_size=16).hexdigest()
    return [games.rpartition(" ")[2], str(len(agents)), together]


def cells(page: Path) -> dict[str, list[str]]:
    """The table of a page: what stands behind each game's name and version."""
    _, _, table = page.read_text(encoding="utf-8").partition(HEAD)
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {name: values for name, *values in rows}


def compared(name: str, folder: Path) -> list[str]:
    """A row of the table: this machine in all kinds of processes, an emulated ARM, and Node."""
    import aarch64
    from wasm_tools import in_node, random_games

    from asobiba.targets.wasm.package import Variant, write_game, write_package

    found = cells_of(found_in_all(name, records_file(folder)))
    command = [sys.executable, aarch64.__file__, name]
    on_arm = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split(": ")[-1]
    ruleset = game(name).ruleset()
    write_package(folder)
    write_game(folder / "games" / name, [Variant("default", ruleset)], {})
    job = {"kind": "random", "game": name, "variant": "default", "count": ON_WASM, "seed": 11}
    (answer,) = in_node(folder, [job])
    assert answer == random_games(ruleset, ON_WASM, 11), name
    return [*found, hashlib.blake2b(on_arm.encode(), digest_size=16).hexdigest(), answer["digest"][:32]]


def write(page: Path, names: list[str]) -> None:
    """Writes the rows of these games into the page's table; the others stay."""
    ids = {game(name).id: name for name in game_names() if game(name).package.startswith("asobiba.")}
    for full, name in ids.items():
        if name in (names or ids.values()):
            with tempfile.TemporaryDirectory() as folder:
                row = compared(name, Path(folder))
            head, _, _ = page.read_text(encoding="utf-8").partition(HEAD)
            rows = {key: values for key, values in cells(page).items() if key in ids} | {full: row}
            table = "".join(f"| {' | '.join([key, *rows[key]])} |\n" for key in ids if key in rows)
            page.write_text(head + HEAD + table, encoding="utf-8")
            print(f"{full}: {' '.join(row)}", flush=True)


if __name__ == "__main__":
    np.seterr(over="ignore")  # without the compiler the generator's products warn as they wrap
    if sys.argv[1:2] == ["lines"]:
        print("\n".join(found(**json.loads(sys.argv[2]))))
    elif sys.argv[1:2] == ["write"] and len(sys.argv) > 2:
        write(Path(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(__doc__)
