"""Whatever an agent does, its game is lost for the right reason; whatever happens to the machine costs nobody a game."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from arena_tools import ROGUES

from asobiba.arena.executors import LocalExecutor
from asobiba.arena.league import check_agents, run_league
from asobiba.arena.match import Match
from asobiba.arena.player import (
    ALLOWED,
    BEAT,
    BEFORE,
    CPU,
    FIELDS,
    PAUSED,
    STARTED,
    Late,
    Player,
    SharedClock,
    Terms,
    Unit,
)
from asobiba.arena.playing import killed_record
from asobiba.arena.replay import check_record
from asobiba.arena.store import Store
from asobiba.arena.trust import EVERYBODY, NOBODY, Trust, trusted
from asobiba.arena.worker import RefusedAgent, Worker, WorkerError
from asobiba.core import UnknownAgent, game
from asobiba.protocols.sandbox import Sandbox, best_kind
from asobiba.protocols.stopwatch import Pauses, Stopwatch

sys.path.insert(0, str(ROGUES))
NIM = game("toy_nim").ruleset()
INSIDE = {
    "exits": ("crash", "SystemExit: enough"),
    "interrupts": ("crash", "KeyboardInterrupt"),
    "attached": ("illegal action", "call detach() first"),
    "bottomless": ("time-out", "did not answer within"),
    "garbles": ("crash", r"half a character \ud800, nothing \x00"),
    "leaves_early": ("crash", "exit code 7"),
    "unbuildable": ("crash", "SystemExit: no"),
}


def matches(agents, games=1):
    return [Match.of(NIM, (name, "bouton"), seed) for name in agents for seed in range(games)]


def play(executor, wanted):
    return [record for records in executor.play(wanted) for record in records]


def test_what_an_agent_does_to_its_process_costs_it_the_game_and_nobody_else():
    executor = LocalExecutor(2, time_limit=2.0, warm_up=30.0, trust=EVERYBODY)
    records = play(executor, matches([*INSIDE, "random"]))
    assert len(records) == len(INSIDE) + 1
    for record in records:
        check_record(record)
        name = record.match.seats[0]
        if name == "random":
            assert record.reason == "rules"
            continue
        reason, detail = INSIDE[name]
        assert (record.reason, record.culprit) == (reason, 0), record
        assert detail in record.detail


def test_an_agent_that_never_begins_has_its_warm_up_once():
    """In a constructor that computes, and in a `reset` that sleeps; afterwards it has no more time than for a move."""
    executor = LocalExecutor(1, time_limit=0.5, warm_up=2.0, trust=EVERYBODY)
    records = play(executor, matches(["unfinished", "never_begins"], 2))
    assert {(record.reason, record.culprit) for record in records} == {("time-out", 0)}
    assert len(records) == 4
    assert executor.terms.suspects == {"unfinished", "never_begins"}
    waited = {name: [] for name in executor.terms.suspects}
    for record in records:
        waited[record.match.seats[0]].append(float(record.detail.split("within ")[1].split()[0]))
    for seconds in waited.values():
        assert len(seconds) == 2
        assert min(seconds) < 2.0 <= max(seconds)


def test_a_contained_agent_that_never_begins_has_its_start_once(monkeypatch):
    monkeypatch.setattr("asobiba.protocols.json_lines.START_SECONDS", 3.0)
    terms = Terms(0.5, 30.0)
    clock, log = (ctypes.c_double * FIELDS)(), (ctypes.c_ubyte * 1000)()
    player = Player(SharedClock(clock, log, terms), terms)
    try:
        found = list(player.play(Unit(tuple(matches(["never_begins"], 2)), "single")))
    finally:
        player.close()
    assert [type(one) for one in found] == [list, Late, list]
    details = [record.detail for records in found if isinstance(records, list) for record in records]
    assert all("did not answer within 0.5 s" in detail for detail in details), details


def test_what_comes_back_is_counted_against_what_was_asked():
    executor, wanted = LocalExecutor(1, time_limit=5.0, trust=EVERYBODY), matches(["twins"], 12)
    records = play(executor, wanted)
    assert sorted(record.match.key for record in records) == sorted(match.key for match in wanted)
    assert {record.reason for record in records} == {"rules"}
    for record in records:
        check_record(record)


def test_a_process_that_forges_records_is_not_believed():
    asked, others = matches(["bouton"], 3), matches(["random"], 1)
    record = killed_record(asked[0], 0, "crash", "", b"")
    worker = Worker.__new__(Worker)
    worker.unit, worker._done, worker.again = Unit(tuple(asked), "single"), set(), []
    assert worker._asked_for([record, record]) == [record]
    assert worker._asked_for([record, killed_record(others[0], 0, "crash", "", b"")]) == []
    (rest,) = worker._missing(worker.unit, failed=False)
    assert rest.matches == tuple(asked[1:])
    assert rest.strikes == 1
    with pytest.raises(WorkerError, match="without a record"):
        worker._missing(replace(rest, strikes=2), failed=False)


def test_what_workers_leave_behind_goes_with_them(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    executor = LocalExecutor(1, time_limit=5.0, trust=EVERYBODY)
    (record,) = play(executor, matches(["litters"]))
    assert "exit code 5" in record.detail
    assert not [path for path in tmp_path.rglob("*") if "litter" in path.name]


def test_what_killed_processes_leave_behind_goes_at_the_next_start(tmp_path):
    code = "import os, signal; from asobiba.protocols.scratch import scratch_folder; "
    code += "open(scratch_folder('home') / 'file', 'w').close(); os.kill(os.getpid(), signal.SIGKILL)"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert len(list(tmp_path.rglob("file"))) == 1
    code = "from asobiba.protocols.scratch import scratch_folder, sweep; import os; scratch_folder('home'); "
    code += "print(sweep(), len(os.listdir(os.environ['TMPDIR'])))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "2"]  # its own folder and lock, and they are not swept
    assert list(tmp_path.iterdir()) == []


def children():
    return [p for p in psutil.Process().children() if "spawn_main" in " ".join(p.cmdline())]


def disturb(action, after):
    """Does something to a worker as soon as it has used `after` seconds of processor time; tells how often it did."""
    done = []

    def watch():
        deadline = time.monotonic() + 120
        while not done and time.monotonic() < deadline:
            with contextlib.suppress(psutil.Error):
                for child in children():
                    if child.cpu_times().user > after:
                        action(child)
                        done.append(child.pid)
                        break
            time.sleep(0.02)

    threading.Thread(target=watch, daemon=True).start()
    return done


def play_and_disturb(action, executor, wanted):
    """Plays, and does something to the worker when it has delivered its first game; the records, and how often it did."""
    found, done = [], []
    for records in executor.play(wanted):
        found += records
        if not done:
            child = max(children(), key=lambda process: process.cpu_times().user)
            action(child)
            done.append(child.pid)
    return found, done


@pytest.mark.parametrize("when", ["as it starts", "as it plays"])
def test_a_worker_that_is_killed_from_outside_costs_nobody_a_game(when):
    executor, wanted = LocalExecutor(1, time_limit=3.0, trust=EVERYBODY), matches(["slow"], 24)
    if when == "as it starts":
        done = disturb(lambda child: child.kill(), 0.2)
        records = play(executor, wanted)
    else:
        records, done = play_and_disturb(lambda child: child.kill(), executor, wanted)
    assert len(records) == len({record.match.key for record in records}) == 24
    assert {record.reason for record in records} == {"rules"}
    assert done


def test_a_worker_that_is_stopped_for_longer_than_the_limit_forfeits_nothing():
    def pause(child):
        child.suspend()
        threading.Timer(4.0, child.resume).start()

    executor = LocalExecutor(1, time_limit=1.0, trust=EVERYBODY)
    records, done = play_and_disturb(pause, executor, matches(["slow"], 24))
    assert len(records) == 24
    assert {record.reason for record in records} == {"rules"}
    assert done


def stopped_for(pauses, seconds):
    """As if the process had been stopped for so long after the last tick."""
    pauses._seen = replace(pauses._seen, time=pauses._seen.time - seconds)


def test_pauses_are_no_thinking():
    pauses = Pauses()
    stopped_for(pauses, 3.0)
    assert 2.5 < pauses.tick()[1] < 3.5
    watch = Stopwatch(os.getpid())
    watch._last -= 3.0
    watch.look()
    assert watch.seconds < 0.1


def test_a_tick_while_the_pauses_are_read_takes_none_away(monkeypatch):
    pauses, waiting = Pauses(), Pauses._waiting
    stopped_for(pauses, 3.0)

    def tick_first(self):
        monkeypatch.setattr(Pauses, "_waiting", waiting)
        self.tick()  # as the other thread does while this one reads a file
        return waiting(self)

    monkeypatch.setattr(Pauses, "_waiting", tick_first)
    assert 2.5 < pauses.total < 3.5
    assert 2.5 < pauses.total < 3.5


class Stopped(list):
    """Fields of a shared clock whose process is stopped before the last is written."""

    def __setitem__(self, key, value):
        if key == CPU and self[BEAT]:
            time.sleep(0.6)
        super().__setitem__(key, value)


def test_a_stop_between_the_fields_of_a_beat_is_no_thinking():
    fields, log = Stopped([0.0] * FIELDS), (ctypes.c_ubyte * 1000)()
    clock = SharedClock(fields, log, Terms(0.2, 30.0))
    clock.beat()
    clock.start(0, "slow")
    clock.beat()
    assert fields[BEAT] - fields[STARTED] - (fields[PAUSED] - fields[BEFORE]) < 0.2


class Moves(list):
    """Fields of a shared clock whose process begins its next move while they are read."""

    def __getitem__(self, key):
        value = super().__getitem__(key)
        if key == PAUSED:
            self[BEFORE], self[STARTED] = value, time.monotonic()
        return value


def test_a_move_that_begins_while_the_last_is_judged_is_not_late():
    worker, now = Worker.__new__(Worker), time.monotonic()
    worker.unit, worker._seen = Unit(tuple(matches(["slow"])), "single"), None
    worker._fields = Moves([0.0] * FIELDS)
    for key, value in ((STARTED, now - 4.2), (ALLOWED, 1.0), (BEAT, now), (PAUSED, 4.0)):
        worker._fields[key] = value
    assert worker.overdue is None


def test_who_is_trusted():
    assert trusted(NIM.game, "random")
    assert trusted(NIM.game, "bouton")  # of the package that brings the game
    assert not trusted(NIM.game, "raises")
    assert trusted(NIM.game, "raises:moves=2", Trust.of(["raises"]))
    assert trusted(NIM.game, "raises", EVERYBODY)
    assert not trusted(NIM.game, "file:strategy.py")
    assert trusted(game("battleship"), "cb")


def test_contained_agents_see_nothing_of_the_league(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAGUE_SECRET", "the opponent's fleet")
    place = Path("/tmp/asobiba-spied-store.sqlite")
    executor = LocalExecutor(1, time_limit=5.0)
    try:
        with Store(place) as store:
            state = run_league(NIM, ["bouton", "spies", "garbles"], store, executor, games=2)
            assert state.left == 0
            records = [store.record(result.number) for result in store.results(NIM)]
    finally:
        for suffix in ("", "-wal", "-shm"):
            place.with_name(place.name + suffix).unlink(missing_ok=True)
    spied = [r for r in records if r.culprit is not None and r.match.seats[r.culprit] == "spies"]
    assert spied
    kind = best_kind()
    for record in records:
        check_record(record)
        expected = ",".join(kind if name in ("spies", "garbles") else "" for name in record.match.seats)
        assert record.contained == expected
    found = json.loads(spied[0].detail.removeprefix("RuntimeError: "))
    assert found["secret"] == ""
    assert found["home"] != os.path.expanduser("~")
    assert not found["referee"]
    if kind != "limits":
        assert found["network"] in ("ConnectionRefusedError", "OSError", "PermissionError")
        assert isinstance(found["written"], str)
        assert isinstance(found["store"], str)
        assert found["processes"] < 20
    time.sleep(0.5)
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] and "4242.5" in p.info["cmdline"]]
    assert not (ROGUES / "mark").exists()
    garbled = [r for r in records if r.culprit is not None and r.match.seats[r.culprit] == "garbles"]
    assert r"\ud800" in garbled[0].detail


@pytest.mark.parametrize("kind", ["landlock", "limits"])
def test_the_weaker_containments_start_programs_too(kind, tmp_path):
    if kind == "landlock" and os.uname().sysname != "Linux":
        pytest.skip("Landlock is Linux's")
    secret = tmp_path / "secret"
    secret.write_text("x")
    program = f"import os; print(sorted(os.environ), os.path.exists(os.environ['HOME']), os.access({str(secret)!r}, 4))"
    try:
        process = Sandbox(kind=kind).start([sys.executable, "-I", "-c", program], [sys.prefix, sys.base_prefix])
    except OSError as error:
        pytest.fail(str(error))
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors.decode()
    assert b"HOME" in out
    assert b"LEAGUE" not in out


def test_agents_that_cannot_play_are_refused_before_the_first_game(tmp_path):
    executor = LocalExecutor(1, time_limit=5.0)
    with pytest.raises(UnknownAgent):
        check_agents(game("battleship").ruleset(), ["cb", "cbb"], executor)
    with pytest.raises(RefusedAgent, match="boutom"):
        check_agents(NIM, ["bouton", "boutom"], executor)
    with pytest.raises(RefusedAgent, match="cannot start"):
        check_agents(NIM, ["process:/no/such/program"], executor)
    with pytest.raises(RefusedAgent, match="no strategy file"):
        check_agents(NIM, ["file:" + str(tmp_path / "none.py")], executor)


def test_stores_of_killed_runners_keep_their_workers_few(tmp_path):
    """A killed league leaves no process behind."""
    import subprocess

    from arena_tools import COMMAND, ENVIRONMENT

    command = [*COMMAND, "league", "run", "toy_nim", "--agents", "slow bouton", "-n", "4000", "-j", "1"]
    command += ["--trust", "slow", "--store", str(tmp_path / "a.sqlite")]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    family = []
    deadline = time.monotonic() + 120
    while not family and time.monotonic() < deadline:
        time.sleep(0.1)
        with contextlib.suppress(psutil.Error):
            family = [
                p for p in psutil.Process(process.pid).children(recursive=True) if "spawn_main" in " ".join(p.cmdline())
            ]
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert family
    assert not alive


def test_nobody_is_trusted_by_default():
    assert LocalExecutor(1).terms.trust == NOBODY
