"""Stores are not believed blindly, can be read anywhere, are made by two at once, and are brought up to date."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from arena_tools import asobiba
from postgres import server

from asobiba.arena.commands import stored_results
from asobiba.arena.executors import LocalExecutor
from asobiba.arena.league import play_missing, run_league
from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.results import Results
from asobiba.arena.schedule import round_robin
from asobiba.arena.seals import seals
from asobiba.arena.store import DamagedStore, Store, StoreError, chosen_store, default_store
from asobiba.arena.verify import verify_store
from asobiba.core import game, make_agent

NIM = game("toy_nim").ruleset()


def records(count=12):
    found = []
    for match in round_robin(NIM, ["random", "bouton"], count):
        found.append(play_match(match, [make_agent(NIM.game, text) for text in match.seats]))
    return found


@pytest.fixture(scope="module")
def played():
    return records()


@pytest.fixture
def store(tmp_path, played):
    path = tmp_path / "nim.sqlite"
    with Store(path) as kept:
        kept.write(played)
    return path


CHANGES = {
    "a changed winner": "UPDATE matches SET winner = 1 - winner WHERE id = 3",
    "a changed winner and its returns": (
        'UPDATE matches SET winner = 1 - winner WHERE id = 3; UPDATE seats SET "return" = -"return" WHERE match = 3'
    ),
    "text where a number belongs": "UPDATE matches SET moves = 'many' WHERE id = 3",
    "text for a return": "UPDATE seats SET \"return\" = 'all' WHERE match = 3",
    "a missing seat": "DELETE FROM seats WHERE match = 3 AND seat = 1",
    "another agent": "UPDATE seats SET agent = 3 - agent WHERE match = 3",
    "another reason": "UPDATE matches SET reason = 'crash', culprit = 0 WHERE id = 3",
    "a reason that is none": "UPDATE matches SET reason = 'weather' WHERE id = 3",
    "no digest": "UPDATE matches SET seal = NULL WHERE id = 3",
    "another time": "UPDATE matches SET played_at = '2020-01-01T00:00:00+00:00' WHERE id = 3",
    "a time with more behind it": "UPDATE matches SET played_at = played_at || '1' WHERE id = 3",
    "a key with more behind it": "UPDATE matches SET key = key || '1' WHERE id = 3",
    "a time in letters of elsewhere": "UPDATE matches SET played_at = '２０２０' WHERE id = 3",
    "another secret": (
        "INSERT INTO secrets VALUES (9, 1, '00112233445566778899aabbccddeeff', NULL, 'now', NULL); "
        "UPDATE matches SET secret = 9 WHERE id = 3"
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_match_is_found_and_refused(store, change):
    with sqlite3.connect(store) as connection:
        connection.executescript(CHANGES[change])
    with Store(store, create=False) as kept:
        with pytest.raises(DamagedStore, match="1 matches do not agree"):
            kept.results(NIM)
        assert len(kept.results(NIM, undamaged=True)) == 11
        assert 3 not in kept.results(NIM, undamaged=True).number
        with pytest.raises(DamagedStore):
            kept.record(3)
        assert [what for what, _ in verify_store(NIM, kept).faults] == ["match 3"]


LISTS = {
    "a deleted match": (
        "DELETE FROM seats WHERE match = 3; DELETE FROM matches WHERE id = 3",
        ["the match at place 3 of 12 is missing"], [], 11,
    ),
    "the last ones deleted": (
        "DELETE FROM seats WHERE match > 10; DELETE FROM matches WHERE id > 10",
        ["the match at place 11 of 12 is missing", "the match at place 12 of 12 is missing"], [], 10,
    ),
    "a match twice": (
        "INSERT INTO matches SELECT 20, substr(key, 2) || '0', ruleset, seed, reason, culprit, detail, moves, winner, "
        "actions, digest, played_at, contained, secret, sequence, content, seal FROM matches WHERE id = 3; "
        'INSERT INTO seats SELECT 20, seat, agent, "return", decisions, seconds, tie_break, team FROM seats WHERE match = 3',
        [], [20], 12,
    ),
    "two that changed places": (
        "UPDATE matches SET sequence = 100 WHERE id = 3; UPDATE matches SET sequence = 2 WHERE id = 5; "
        "UPDATE matches SET sequence = 4 WHERE id = 3",
        [], [3, 5], 10,
    ),
    "another list": (
        "UPDATE asobiba_meta SET value = '12 5' WHERE name = 'list 1'",
        ["the list of matches does not agree with its digest: a match was put in the place of another"], [], 12,
    ),
    "a shorter list": ("UPDATE asobiba_meta SET value = '11 5' WHERE name = 'list 1'", [], [12], 11),
}  # fmt: skip


@pytest.mark.parametrize("change", LISTS)
def test_a_changed_list_is_found_and_refused(store, change):
    """A match that is deleted, added or moved is found by the table and by verify, without playing anything."""
    script, faults, damaged, left = LISTS[change]
    with sqlite3.connect(store) as connection:
        connection.executescript(script)
    with Store(store, create=False) as kept:
        found = kept.examine(NIM)
        assert (list(found.faults), list(found.damaged)) == (faults, damaged)
        with pytest.raises(DamagedStore, match=faults[0] if faults else "do not agree"):
            kept.results(NIM)
        assert len(kept.results(NIM, undamaged=True)) == left
        told = verify_store(NIM, kept, sample=1).faults
        assert [what for what, _ in told] == ["list"] * len(faults) + [f"match {k}" for k in damaged]


def test_what_only_a_replay_shows_is_found_by_verify(store, played):
    """Whoever changes the actions and works the digests out anew is found by playing again."""
    from dataclasses import replace

    from asobiba.arena.ledger import ListSeal
    from asobiba.arena.record_seals import Entry, record_seal
    from asobiba.arena.schema import MATCHES
    from asobiba.arena.seals import content

    forged = replace(played[2], actions=played[2].actions[:-1], moves=played[2].moves - 1)
    engine = sa.create_engine(f"sqlite:///{store}")
    with engine.begin() as connection:
        here = MATCHES.c.key == forged.match.key
        row = connection.execute(sa.select(MATCHES).where(here)).one()
        values = {
            "actions": forged.actions, "moves": forged.moves,
            "seal": record_seal(forged, Entry(row.sequence, row.played_at)),
            "content": content(forged.actions, forged.detail, forged.digest, forged.contained),
        }  # fmt: skip
        connection.execute(MATCHES.update().where(here).values(**values))
        seals = list(connection.execute(sa.select(MATCHES.c.seal)).scalars())
        ListSeal().extended(seals).write(connection, row.ruleset)
    engine.dispose()
    with Store(store, create=False) as kept:
        assert len(kept.results(NIM)) == 12
        found = verify_store(NIM, kept)
        assert len(found.faults) == 1
        assert "another final state" in found.faults[0][1]
        assert found.checked == found.present == 12
        assert verify_store(NIM, kept, sample=4, seed=1).checked == 4


@pytest.mark.parametrize("column", ["actions", "detail", "digest", "contained"])
def test_tables_refuse_what_ratings_do_not_read_too(store, column):
    with sqlite3.connect(store) as connection:
        connection.execute(f"UPDATE matches SET {column} = {column} || '1' WHERE id = 3")
    with Store(store, create=False) as kept:
        with pytest.raises(DamagedStore, match=r"1 matches do not agree .* \(numbers 3\)"):
            stored_results(NIM, kept)
        assert 3 not in stored_results(NIM, kept, undamaged=True).number
        assert len(stored_results(NIM, kept, undamaged=True)) == 11
        assert len(kept.results(NIM)) == 12


def test_the_commands_refuse_mark_and_name_what_was_changed(store):
    with sqlite3.connect(store) as connection:
        connection.executescript(CHANGES["a changed winner"])
    for command in (("league", "table", "toy_nim"), ("league", "publish", "toy_nim", store.parent / "out")):
        done = asobiba(*command, "--store", store)
        assert done.returncode == 2
        assert "1 matches do not agree" in done.stderr
    assert asobiba("league", "table", "toy_nim", "--store", store, "--undamaged").returncode == 0
    done = asobiba("league", "verify", "toy_nim", "--store", store)
    assert done.returncode == 1
    assert "match 3:" in done.stdout


def test_seals_of_many_are_seals_of_each(played):
    results = Results.of([])
    assert len(results) == 0
    keys = [record.match.key for record in played]
    numbers = [np.arange(12), np.linspace(0, 1, 24).reshape(12, 2)]
    together = seals(keys, numbers)
    alone = [int(seals([keys[k]], [n[k : k + 1] for n in numbers])[0]) for k in range(12)]
    assert together.tolist() == alone
    assert len(set(alone)) == 12


FIRST_FORMAT = """
CREATE TABLE first (id INTEGER NOT NULL PRIMARY KEY, key VARCHAR(32) NOT NULL UNIQUE, ruleset INTEGER NOT NULL REFERENCES
rulesets (id), seed BIGINT NOT NULL, reason VARCHAR(20) NOT NULL, culprit INTEGER, detail TEXT NOT NULL, moves INTEGER NOT
NULL, winner INTEGER NOT NULL, actions BLOB NOT NULL, digest VARCHAR(16) NOT NULL, played_at VARCHAR(25) NOT NULL);
INSERT INTO first SELECT id, key, ruleset, seed, reason, culprit, detail, moves, winner, actions, digest, played_at FROM matches;
DROP TABLE matches; DROP TABLE secrets; ALTER TABLE first RENAME TO matches; ALTER TABLE seats DROP COLUMN team;
DELETE FROM asobiba_meta WHERE name <> 'format'; UPDATE asobiba_meta SET value = '1';
"""


def older(path: Path) -> None:
    """Makes a store of the first format out of a present one."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(FIRST_FORMAT)


def test_an_older_store_is_upgraded_and_a_copy_kept(store):
    with Store(store, create=False) as kept:
        before = [kept.record(k) for k in range(1, 13)]
    older(store)
    untouched = store.read_bytes()
    with Store(store, create=False) as kept:
        assert [kept.record(k) for k in range(1, 13)] == before
    assert store.read_bytes() == untouched  # who only reads changes nothing
    with Store(store) as kept:
        assert kept.upgraded == store.with_name("nim.sqlite.format1")
        assert [kept.record(k) for k in range(1, 13)] == before
        assert len(kept.results(NIM)) == 12
    with sqlite3.connect(store.with_name("nim.sqlite.format1")) as connection:
        assert connection.execute("SELECT value FROM asobiba_meta").fetchone() == ("1",)
        assert connection.execute("SELECT count(*) FROM matches").fetchone() == (12,)
    with Store(store) as kept:
        assert kept.upgraded is None


def test_a_store_on_a_medium_that_cannot_be_written_is_read(store, tmp_path):
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    frozen = tmp_path / "frozen"
    frozen.mkdir()
    shutil.copy(store, frozen / "nim.sqlite")
    program = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent / 'toys')!r}]\n"
        "from asobiba.arena.store import Store\nfrom asobiba.core import game\n"
        f"print(len(Store({str(frozen / 'nim.sqlite')!r}, create=False).results(game('toy_nim').ruleset())))"
    )
    os.chmod(frozen / "nim.sqlite", 0o444)
    os.chmod(frozen, 0o555)
    command = [sys.executable, "-c", program]
    if os.geteuid() == 0:  # to whom permissions mean nothing: a mount that is read-only
        command = ["unshare", "--mount", "sh", "-c", f'mount --bind -o ro {frozen} {frozen} && mount -o remount,ro,bind {frozen} && exec "$@"', "-", *command]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        os.chmod(frozen, 0o755)
    assert done.stdout.strip() == "12", done.stderr


def _open(place, number, barrier, found):
    sys.path[:0] = [str(Path(__file__).parent / "toys")]
    barrier.wait()
    try:
        with Store(place) as kept:
            new = kept.write(records(2))
            secret = kept.secret(NIM)
            for deal in range(20):
                match = secret.deal(Match.of(NIM, ("random", "bouton"), 1000 * number + deal))
                kept.write([play_match(match, [make_agent(NIM.game, text) for text in match.seats])], secret)
            found.put(new)
    except Exception as error:
        found.put(repr(error))


def start_together(place):
    context = multiprocessing.get_context("spawn")
    barrier, found = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_open, args=(place, k, barrier, found)) for k in range(2)]
    for process in processes:
        process.start()
    outcome = [found.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    with Store(place) as kept:  # neither has lost an entry of the list, and both took the same secret
        assert kept.examine(NIM).sound
        assert len(kept.results(NIM)) == 2 + 2 * 20
        assert [used.games for used in kept.secrets(NIM)] == [2, 40]
    return outcome


def test_two_runners_make_a_new_store_at_the_same_moment(tmp_path):
    assert sorted(start_together(str(tmp_path / "new.sqlite"))) == [0, 2]


def test_postgresql_from_start_to_table(played):
    with server() as url:
        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(url).close()
                break
            except psycopg.OperationalError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        assert sorted(start_together(url)) == [0, 2]
        with Store(url) as kept:
            kept.write(played)
            assert kept.write(played) == 0
            assert len(kept.results(NIM)) == 12 + 2 * 20
            found = kept.record(played[5].match.key)
            assert found == played[5]
            assert verify_store(NIM, kept, sample=3).faults == ()
            state = run_league(NIM, ["random", "bouton"], kept, LocalExecutor(1), games=16)
            assert state.left == 0
            with kept._connection(write=True) as connection:
                connection.execute(sa.text("UPDATE matches SET winner = 1 - winner WHERE id = 3"))
            with pytest.raises(DamagedStore):
                kept.results(NIM)
        with pytest.raises(StoreError), Store(url.replace("/postgres", "/nowhere")):
            pass


def test_writing_is_undone_as_a_whole(store, played):
    with Store(store) as kept:

        def half():
            yield from records(14)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            kept.write(half())
        assert len(kept.results(NIM)) == 12
        assert sum(len(found) for found in play_missing(NIM, [r.match for r in played], kept, LocalExecutor(1))) == 0


def test_numbers_and_keys_of_a_match_stay(store, played):
    with Store(store, create=False) as kept:
        numbers = kept.results(NIM).number
        assert numbers.tolist() == sorted(numbers.tolist())
        times = kept.times(NIM, numbers)
        assert times.shape == (12,)
        assert (np.abs(times - time.time()) < 3600).all()
        assert kept.record(1).match == Match.of(NIM, kept.record(1).match.seats, kept.record(1).match.seed)


def test_a_password_is_on_no_command_line_and_in_no_message(tmp_path, monkeypatch):
    with_password = "postgresql://ann:s3cret@127.0.0.1:1/x"
    for text in (with_password, "postgresql://ann@127.0.0.1:1/x?password=s3cret"):
        with pytest.raises(StoreError, match="everybody on this machine") as refused:
            chosen_store(NIM.game, text)
        assert "s3cret" not in str(refused.value)
    file = tmp_path / "store"
    file.write_text(with_password + "\n")
    file.chmod(0o644)
    with pytest.raises(StoreError, match="chmod 600"):
        chosen_store(NIM.game, f"@{file}")
    file.chmod(0o600)
    assert chosen_store(NIM.game, f"@{file}") == with_password
    assert chosen_store(NIM.game, "postgresql://ann@127.0.0.1/x") == "postgresql://ann@127.0.0.1/x"
    assert chosen_store(NIM.game) == default_store(NIM.game)
    monkeypatch.setenv("ASOBIBA_STORE", with_password)
    assert chosen_store(NIM.game) == with_password
    with pytest.raises(StoreError, match="127") as failed:
        Store(chosen_store(NIM.game))
    assert "s3cret" not in str(failed.value)
    with pytest.raises(StoreError) as unreadable:
        Store("postgresql://ann:s3cret@127.0.0.1:port/x")
    assert "s3cret" not in str(unreadable.value)
