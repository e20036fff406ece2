"""Measures asobiba beside its peers on this machine: `make bench`.

Random legal play everywhere; the drawing of legal actions, masks and observations are included. Cases of one table run
in turn in short bursts; the figure is the median over the rounds. Pgx is measured where it is installed:
`.venv/bin/python -m pip install pgx jax`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import arithmetic
import bare
import compiling
import curling
import frames
import games
import league
import learning
import networks
import numba
import numpy as np
import peers
import tactics_search
import wasm
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from timing import Case, measure
from together import ENVIRONMENTS, together

from asobiba.api import Batch
from asobiba.core import game


def aec_cases() -> list[Case]:
    """One environment through PettingZoo's turn-based interface."""
    return [
        Case("asobiba battleship, AEC", lambda: games.aec("battleship", placement="r")),
        *[Case(f"asobiba {name}, AEC", lambda name=name: games.aec(name)) for name in games.other_board_games()],
        Case("PettingZoo connect_four_v3, AEC", lambda: peers.pettingzoo_aec("connect_four_v3")),
    ]


def single_cases() -> list[Case]:
    """One environment through gymnasium.make, against a compiled opponent."""
    return [
        Case("asobiba/Battleship-v0, opponent rnb", lambda: games.single("battleship", opponent="rnb", placement="r")),
        Case("asobiba/Battleship-v0, opponent random", lambda: games.single("battleship", placement="r")),
        Case("CartPole-v1", peers.cartpole),
    ]


def step_cases() -> list[Case]:
    """Single steps, like with like: one environment in a Python loop, the same draw of a legal action"""
    names = ("battleship", "animal_shogi", "bao")
    parameters: dict[str, dict] = {"battleship": {"placement": "r"}}
    cases = []
    for name in names:
        given = parameters.get(name, {})
        cases += [
            Case(
                f"mask and observation: asobiba {name}, AEC unwrapped",
                lambda name=name, given=given: games.unwrapped_aec(name, **given),
            ),
            Case(
                f"mask and observation: asobiba {name}, a seat unwrapped (a step is two plies)",
                lambda name=name, given=given: games.seat(name, **given),
            ),
            Case(
                f"mask and observation: asobiba {name}, gymnasium.make (a step is two plies)",
                lambda name=name, given=given: games.single(name, **given),
            ),
        ]
    for name in ("connect_four", "battleship", "mancala"):
        cases.append(
            Case(
                f"legal actions and observation: OpenSpiel {name}",
                lambda name=name: peers.openspiel(name, observation=True),
            )
        )
    for name in ("connect_four", "battleship"):
        cases.append(
            Case(
                f"legal actions, no observation: OpenSpiel {name}",
                lambda name=name: peers.openspiel(name, observation=False),
            )
        )
    cases.append(
        Case("mask and observation: PettingZoo connect_four_v3, AEC", lambda: peers.pettingzoo_aec("connect_four_v3"))
    )
    cases.append(Case("observation, no mask: CartPole-v1, gymnasium.make", peers.cartpole))
    return cases


def replay_cases() -> list[Case]:
    """The same steps without a draw: recorded actions are replayed from the same seed"""
    parameters: dict[str, dict] = {"battleship": {"placement": "r"}}
    forms = {"AEC": "AEC unwrapped", "seat": "a seat unwrapped", "make": "gymnasium.make"}
    cases = []
    for name in ("battleship", "animal_shogi", "bao"):
        for form, words in forms.items():
            cases.append(
                Case(
                    f"mask and observation: asobiba {name}, {words}",
                    lambda form=form, name=name: games.replayed(form, name, **parameters.get(name, {})),
                )
            )
    for name in ("connect_four", "mancala"):
        for observed in (True, False):
            cases.append(
                Case(
                    f"legal actions, {'' if observed else 'no '}observation: OpenSpiel {name}",
                    lambda name=name, observed=observed: peers.replayed_openspiel(name, observed),
                )
            )
    return cases


def vector_cases() -> list[Case]:
    """Many environments through gymnasium.make_vec, OpenSpiel from Python, and connect four as a bare loop."""
    cases = [Case("bare Numba loop of connect four, 1024 games, 1 thread", lambda: bare.connect_four(1024))]
    for threads in (1, 2):
        for count in (1, 64, 1024, 8192):
            cases.append(
                Case(
                    f"asobiba battleship, {count} environments, {threads} thread{'s' * (threads > 1)}",
                    lambda count=count, threads=threads: games.vector("battleship", count, threads, placement="r"),
                )
            )
    for name in ("battleship", "connect_four"):
        cases.append(Case(f"OpenSpiel {name}", lambda name=name: peers.openspiel(name, observation=False)))
        cases.append(
            Case(f"OpenSpiel {name}, observation tensor", lambda name=name: peers.openspiel(name, observation=True))
        )
    return cases


def game_cases() -> list[Case]:
    """Every game at 1024 environments and two threads; Pgx and OpenSpiel on the nearest game."""
    cases = [
        Case(f"asobiba {label}, 1024 environments", lambda name=name, kw=kw: games.vector(name, 1024, 2, **kw))
        for label, name, kw in games.all_games()
    ]
    cases.append(Case("Pgx animal_shogi, 1024 environments", lambda: peers.pgx("animal_shogi", 1024)))
    cases.append(Case("OpenSpiel mancala, observation tensor", lambda: peers.openspiel("mancala", observation=True)))
    return cases


def flat_cases() -> list[Case]:
    """Cost per step over batch sizes."""
    return [
        Case(
            f"{count} environments, {threads} thread{'s' * (threads > 1)}",
            lambda count=count, threads=threads: games.vector("battleship", count, threads, placement="r"),
        )
        for threads in (1, 2)
        for count in (256, 512, 1024, 2048, 4096, 8192, 16384)
    ]


def sb3_cases() -> list[Case]:
    """The engine alone and through the VecEnv of Stable-Baselines3."""
    return [
        Case("single seat in the engine, 1024 environments", lambda: games.seat_vector("battleship", 1024)),
        Case("SB3 VecEnv, 1024 environments", lambda: games.sb3("battleship", 1024)),
        Case("SB3 VecEnv, 64 environments", lambda: games.sb3("battleship", 64)),
    ]


def curling_cases() -> list[Case]:
    """Shots of digital curling at random speeds into positions of eight stones, 1024 at once, beside frames of 1 ms."""
    cases = []
    for name in curling.SIMULATORS:
        for threads in (1, 2):
            cases.append(
                Case(
                    f"asobiba {name}, {threads} thread{'s' * (threads > 1)}",
                    lambda name=name, threads=threads: curling.events(name, threads),
                )
            )
        cases.append(Case(f"{name} in frames of 1 ms, 1 thread", lambda name=name: curling.frames(name)))
    return cases


TABLES: dict[str, Callable[[], list[Case]]] = {
    "steps": step_cases,
    "replays": replay_cases,
    "aec": aec_cases,
    "single": single_cases,
    "vector": vector_cases,
    "flat": flat_cases,
    "sb3": sb3_cases,
    "games": game_cases,
    "curling": curling_cases,
    "tactics": tactics_search.cases,
}


def facts() -> list[str]:
    """Start-up, memory, threads."""
    return [
        f"* Process start to first step, warm cache: {start_up(5):.2f} s (median of 5).",
        "* Allocations by compiled code in 100 steps of 64 and of 4096 games: "
        f"{' and '.join(map(str, allocations()))} (headers of the arrays that a call is given; none per game).",
        f"* Two threads of this machine do {scaling(5):.2f} times the arithmetic of one (no memory used; median of 5).",
        f"* Numba's threading layer: {numba.threading_layer()}.",
    ]


def frame_table() -> list[str]:
    """Pictures: milliseconds a frame of `rgb_array`, the median of 30."""
    lines = ["| game | pixels | drawn as SVG, ms | frame, ms |", "|---|---|--:|--:|"]
    for name, (width, height), drawing, whole in frames.frame_times():
        lines.append(f"| {name} | {width} x {height} | {drawing:.1f} | {whole:.1f} |")
    return lines


def arithmetic_table() -> list[str]:
    """Simulators with the core's elementary functions and with the C library's, steps a second of processor time"""
    lines = [
        f"Medians of 80 turns of {arithmetic.STEPS} steps of {arithmetic.BATCH} games each.",
        "",
        "| game | the core's functions | the C library's | more time |",
        "|---|--:|--:|--:|",
    ]
    for case in arithmetic.GAMES:
        own, library, more = arithmetic.rates(case)
        lines.append(f"| {case} | {own:,.0f} | {library:,.0f} | {100 * more:+.1f} % |")
    return lines


def compile_table() -> list[str]:
    """Compiling: what a first environment costs with an empty cache, in seconds of one core."""
    lines = ["| game | PettingZoo's turn-based interface | a seat against random |", "|---|--:|--:|"]
    for name, seconds in compiling.first_environments().items():
        lines.append(f"| {name} | " + " | ".join(f"{each:.1f}" for each in seconds) + " |")
    return lines


def side_by_side() -> list[str]:
    """Two trainings at the same time."""
    apart, beside = together()
    return [
        f"Two processes train MaskablePPO on {ENVIRONMENTS:,} environments of animal shogi each: {apart:.1f} s one after the "
        f"other, {beside:.1f} s at the same time, {100 * (beside / apart - 1):+.0f} %."
    ]


def league_costs() -> list[str]:
    """The league: workers and tables."""
    started = statistics.median(league.worker_start() for _ in range(3))
    return [
        f"* A worker process delivers its first game {started:.1f} s after its start, warm cache (median of 3).",
        f"* The table of a million results of 20 agents, with all ratings: {league.table_of_a_million():.1f} s.",
    ]


def large_league() -> list[str]:
    """The league: 100,000 games and their page."""
    played, used, opened = league.league_and_page()
    page = "no browser is installed" if opened is None else f"{opened:.2f} s more than an empty one"
    return [
        f"* {league.GAMES:,} games of cb against rnb, from the command to its table: {played:.0f} s, {used:.0f} s of processor "
        "time.",
        f"* The page of that league opens in a headless browser: {page}.",
    ]


def wasm_table() -> list[str]:
    """Random play as WebAssembly in Node beside the same calls of native code, and what modules weigh."""
    return [
        "| game | rules, kB gzipped | agents | with agents, kB gzipped | steps/s in Node | natively | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *wasm.rows(),
    ]


def network_table() -> list[str]:
    """Networks as kernels beside PyTorch, on one thread; and learning by search"""
    lines = ["| positions at once | as a kernel, µs | PyTorch, µs | ratio |", "|--:|--:|--:|--:|"]
    for row in networks.forwards():
        lines.append(f"| {row.batch} | {row.kernel:,.1f} | {row.torch:,.1f} | {row.torch / row.kernel:.1f} |")
    found = networks.training()
    return [
        "The published network of animal shogi, with all its logits and the value. A kernel adds in one order, one position after "
        "the other, and skips inputs that are 0, so that its answers are the same everywhere; with many positions at once "
        "PyTorch's matrix products need less time. Taking several positions through each block of weights, with vectors by hand, "
        "made the kernel 15 to 25 % faster at 256, which was not worth its code.",
        "",
        *lines,
        "",
        f"Rounds of `asobiba train animal_shogi --algo gumbel_az`, {networks.SIMULATIONS} simulations a move, {networks.THREADS} "
        f"threads: {found.moves:,.0f} moves of self-play a second, learning included; a move costs {found.core:.2f} ms of one core's "
        f"time. {100 * found.playing:.0f} % of the time is "
        f"self-play, the rest PyTorch's gradients. Of the evaluations that searches ask for, {100 * found.computed:.0f} % are "
        f"computed; the other positions were met before. {100 * found.outside:.0f} % of the time of self-play is not the "
        "network's arithmetic.",
    ]


def players_table() -> list[str]:
    """What thinking buys the players of digital curling: simulations a second of processor time, on one thread of cs2"""
    shots = (f"shot {shot + 1} (throws each: {16 - shot})" for shot in curling.SHOTS)
    return [
        "A simulation of a searching player is a playout, to the end of the end; that of jiritsu is one throw and its "
        f"evaluation. Searching players had {curling.SIMULATIONS:,} simulations a shot. In brackets: the simulator's share of the "
        "time, which is that of throws of playouts from the same position.",
        "",
        f"| player | {' | '.join(shots)} |",
        "|---|--:|--:|--:|--:|",
        *(f"| {name} | {' | '.join(cells)} |" for name, cells in curling.thinking()),
    ]


def learning_table() -> list[str]:
    """Training from end to end: samples a second, and where the time goes"""
    lines = [
        f"Rollouts of {learning.STEPS} steps, minibatches of {learning.BATCH:,}, {learning.EPOCHS} epoch, two layers of 64 units each for "
        "policy and value, one thread, whose processor time the last columns divide. Opponents play at random; `self` is a snapshot "
        "of the learner, whose network is asked for every move of its games, as a pool's are.",
        "",
        "| learner | samples/s by the clock | of processor time | collecting, % | of it the games, % | learning, % |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in learning.cycles():
        shares = f"{row.collecting:.0f} | {row.games:.0f} | {row.learning:.0f}"
        lines.append(f"| {row.name} | {row.rate:,.0f} | {row.of_processor:,.0f} | {shares} |")
    return lines


def profile_table() -> list[str]:
    """Where the processor time of MaskablePPO's update cycle goes, percent"""
    lines = [
        f"Rollouts of {learning.STEPS} steps, minibatches of {learning.BATCH:,}, {learning.EPOCHS} epoch, two layers of 64 units each for "
        "policy and value, one thread, whose processor time counts, the distribution of `asobiba train`. *Games*: the engine, `random` "
        "opponents included; *opponents*: the network of `self`; *buffers*: filled, and cut into minibatches.",
        "",
        f"| learner | samples/s | {' | '.join(learning.PARTS)} |",
        f"|---|{'--:|' * (1 + len(learning.PARTS))}",
    ]
    for row in learning.profiles():
        lines.append(f"| {row.name} | {row.rate:,.0f} | {' | '.join(f'{share:.0f}' for share in row.shares)} |")
    return lines


def beaten_table() -> list[str]:
    """How long MaskablePPO trains until it scores 95 % against random play"""
    return beaten(learning.GAMES, True, "Two layers of 128 units. ")


def own_table() -> list[str]:
    """The same with the games' own networks"""
    told = (
        "The network, parameters and practice game of each game's `training.yml`, without its teacher. Where the opponents play "
        "at random, nothing can be learned in werewolf ([training](training.md#opponents)). "
    )
    return beaten(learning.OWN, False, told)


def beaten(names: Sequence[str], plain: bool, told: str) -> list[str]:
    lines = [
        f"{told}Large minibatches and few epochs (`QUICK` in benchmarks/learning.py); {learning.EVALUATED} games from other openings after "
        f"every {4 * learning.STEPS * learning.ENVIRONMENTS:,} decisions, whose time does not count; one thread, at most {learning.LIMIT:.0f} s of processor time.",
        "",
        "| game | seconds by the clock | of processor time | decisions | score at the end |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in names:
        row = learning.until_beaten(name, plain)
        lines.append(
            f"| {name} | {row.seconds:.1f} | {row.processor:.1f} | {row.decisions:,} | {100 * row.score:.1f} % |"
        )
    return lines


def taught_table() -> list[str]:
    """Policies that have only imitated a classical agent, against random play"""
    lines = [
        "The network and practice game of each game's `training.yml`, and `imitation` (`TAUGHT` in benchmarks/learning.py); "
        f"two passes over each decision; {learning.EVALUATED} games. The teacher's thinking counts; one thread.",
        "",
        "| game | teacher | decisions | seconds by the clock | of processor time | score |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for name, (teacher, _) in learning.TAUGHT.items():
        row = learning.taught(name)
        lines.append(
            f"| {name} | `{teacher}` | {row.decisions:,} | {row.seconds:.1f} | {row.processor:.1f} | {100 * row.score:.1f} % |"
        )
    return lines


def valued_table() -> list[str]:
    """How long values of afterstates learn by TD(lambda) until they score 95 % against random play"""
    lines = [
        f"From nothing, in rounds of {learning.VALUED_GAMES} games; {learning.EVALUATED} games from other openings after each, whose time does not "
        f"count; one thread, at most {learning.LIMIT:.0f} s of processor time.",
        "",
        "| game | seconds by the clock | of processor time | positions | score at the end |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in learning.VALUED:
        row = learning.valued(name)
        lines.append(
            f"| {name} | {row.seconds:.1f} | {row.processor:.1f} | {row.decisions:,} | {100 * row.score:.1f} % |"
        )
    return lines


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "thinking": players_table,
    "arithmetic": arithmetic_table,
    "networks": network_table,
    "learning": learning_table,
    "profile": profile_table,
    "beaten": beaten_table,
    "own": own_table,
    "taught": taught_table,
    "valued": valued_table,
    "frames": frame_table,
    "compiling": compile_table,
    "together": side_by_side,
    "league": league_costs,
    "large": large_league,
    "wasm": wasm_table,
    "facts": facts,
}


def start_up(runs: int) -> float:
    """Median seconds from the start of a process to its first step, with a warm cache."""
    code = (
        "import gymnasium, asobiba\n"
        "env = gymnasium.make('asobiba/Battleship-v0', placement='r')\n"
        "_, info = env.reset(seed=0)\n"
        "env.step(int(info['action_mask'].argmax()))\n"
    )
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def allocations() -> list[int]:
    """Allocations of Numba's runtime in 100 steps of 64 and of 4096 games: headers of the arrays that calls are given."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    counts = []
    for games_at_once in (64, 4096):
        batch = Batch(game("battleship").ruleset(placement="r"), games_at_once, threads=1)
        batch.reset(0)
        batch.step(batch.sample_actions())
        before = rtsys.get_allocation_stats().alloc
        for _ in range(100):
            batch.step(batch.sample_actions())
        counts.append(rtsys.get_allocation_stats().alloc - before)
    return counts


@numba.njit(nogil=True)
def _arithmetic(rounds: int) -> int:
    a = b = c = d = np.uint64(1)
    for _ in range(rounds):
        a ^= a << np.uint64(13)
        b ^= b << np.uint64(13)
        c ^= c << np.uint64(13)
        d ^= d << np.uint64(13)
        a ^= a >> np.uint64(7)
        b ^= b >> np.uint64(7)
        c ^= c >> np.uint64(7)
        d ^= d >> np.uint64(7)
    return a ^ b ^ c ^ d


def scaling(runs: int) -> float:
    """Speed-up of two threads over one on this machine, for arithmetic without any memory."""
    _arithmetic(1)
    ratios = []
    for _ in range(runs):
        seconds = []
        for count in (1, 2):
            threads = [threading.Thread(target=_arithmetic, args=(100_000_000,)) for _ in range(count)]
            start = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds.append((time.perf_counter() - start) / count)
        ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios)


def described() -> dict[str, Any]:
    """The machine and the versions, for files that are compared."""
    model, cores, python, versions = _facts()
    return {
        "processor": model,
        "cores": cores,
        "python": python,
        "platform": platform.platform(),
        "versions": versions,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def machine() -> str:
    """One line about the machine and the versions."""
    model, cores, python, versions = _facts()
    found = [f"{name} {number or 'not installed'}" for name, number in versions.items()]
    return f"{model}, {cores} cores, Python {python}; {', '.join(found)}"


def _facts() -> tuple[str, int | None, str, dict[str, str | None]]:
    names = ("numba", "numpy", "gymnasium", "pettingzoo", "open_spiel", "stable-baselines3", "pgx")
    versions: dict[str, str | None] = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next(
            (line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), model
        )
    return model, os.cpu_count(), platform.python_version(), versions


def case_table(name: str, arguments: argparse.Namespace, console: Console, rates: dict[str, Any]) -> list[str]:
    """Measures the cases of one table; the steps per second of every burst go into `rates`."""
    cases = TABLES[name]()
    columns = TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    # Without a thread that draws the bar: single steps release the interpreter's lock where there are threads.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task(name, total=arguments.rounds * len(cases))
        for _ in measure(cases, arguments.rounds, arguments.seconds):
            progress.advance(task)
            progress.refresh()
    rates[name] = {case.name: case.rates for case in cases if not case.missing}
    lines = ["| case | steps/s (median) | least | most |", "|---|--:|--:|--:|"]
    for case in cases:
        if case.missing:
            lines.append(f"| {case.name} | not installed | | |")
        else:
            lines.append(f"| {case.name} | {case.rate:,.0f} | {min(case.rates):,.0f} | {max(case.rates):,.0f} |")
    return lines


def sections_of(page: Path) -> dict[str, str]:
    """The sections of a page that was written before, by title."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in text.split("\n## ")[1:]}


def main() -> None:
    names = [*TABLES, *SECTIONS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="bursts of each case; the median counts (default 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a burst (default 1)")
    parser.add_argument("--write", type=Path, help="write what was measured into this Markdown page, too")
    parser.add_argument("--json", type=Path, help="write the rates and the machine into this file: see compare.py")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.tables if name not in names]
    if unknown:
        parser.error(f"no table is called {', '.join(unknown)}; tables: {', '.join(names)}")
    console = Console()
    console.print(machine())
    measured, rates = {}, {}
    for name in arguments.tables or names:
        build = SECTIONS.get(name) or TABLES[name]
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        lines = SECTIONS[name]() if name in SECTIONS else case_table(name, arguments, console, rates)
        title = (build.__doc__ or name).strip().rstrip(".")
        console.print(f"\n[bold]{title}")
        for line in lines:
            console.print(line, highlight=False)
        measured[title] = "\n".join([*lines, "", f"`{command(arguments)}`: {machine()}; load before it {load:.1f}."])
    if arguments.json:
        content = {"command": command(arguments), "machine": described(), "steps_per_second": rates}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
        console.print(f"Written to {arguments.json}")
    if arguments.write:
        sections = {**sections_of(arguments.write), **measured}
        order = [((SECTIONS.get(name) or TABLES[name]).__doc__ or name).strip().rstrip(".") for name in names]
        text = "# Benchmarks\n\nEvery section says what measured it, and on what machine.\n"
        order += [title for title in sections if "python benchmarks/run.py" not in sections[title]]  # of other scripts
        text += "".join(f"\n## {title}\n\n{sections[title]}\n" for title in order if title in sections)
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        arguments.write.write_text(text, encoding="utf-8")
        console.print(f"Written to {arguments.write}")


def command(arguments: argparse.Namespace) -> str:
    """The command line that made the tables."""
    return " ".join(["python benchmarks/run.py", *sys.argv[1:]]) if len(sys.argv) > 1 else "python benchmarks/run.py"


if __name__ == "__main__":
    main()
