"""Published leagues: the file of their records, and what a stranger who verifies it finds."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from arena_tools import asobiba_each

from asobiba.arena.ledger import ListSeal
from asobiba.arena.playing import play_match
from asobiba.arena.publish import publish
from asobiba.arena.record_seals import record_seal
from asobiba.arena.records_file import NAME, RecordsFile, write_records
from asobiba.arena.schedule import round_robin
from asobiba.arena.secret import Secret
from asobiba.arena.store import Store
from asobiba.arena.verify import play_again, verify_folder
from asobiba.core import AsobibaError, game, make_agent

NIM = game("toy_nim").ruleset()
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A league of which some games were played under a secret, some under a public seed, some without either."""
    folder = tmp_path_factory.mktemp("leaderboards") / "toy_nim"
    with Store(folder.parent / "nim.sqlite") as store:
        for secret, games in ((None, 4), (store.secret(NIM), 10), (Secret.of_seed(5), 6)):
            seed = 17 if secret is None else secret.seed
            matches = round_robin(NIM, ["random", "bouton"], games, seed)
            matches = matches if secret is None else secret.deal_all(matches)
            records = [play_match(m, [make_agent(NIM.game, text) for text in m.seats]) for m in matches]
            store.write([replace(records[0], detail='"日本\n'), *records[1:]], secret)
        publish(NIM, store, store.results(NIM), folder)
        records = [store.record(number) for number in store.results(NIM).number.tolist()]
    return folder, records


@pytest.fixture
def league(published, tmp_path):
    """A copy that may be changed."""
    for file in published[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def rewritten(folder: Path, change) -> None:
    """The file of records with other matches in it, as somebody writes it who leaves the seals as they are."""
    file = RecordsFile(folder / NAME)
    about = {name: file.header[name] for name in ("sources", "public_seeds")}
    write_records(folder / NAME, NIM, change(list(file.listed())), ListSeal(*file.header["list"]), about)


def test_a_published_league_holds_every_game_and_is_verified(published):
    folder, records = published
    file = RecordsFile(folder / NAME)
    assert [one.record for one in file.listed()] == records
    assert [one.number for one in file.listed()] == list(range(1, 21))
    assert file.header["game"] == "toy_nim"
    found = verify_folder(folder)
    assert (found.present, found.checked, found.faults) == (20, 20, ())
    assert verify_folder(folder, sample=3).checked == 3
    readme = (folder / "README.md").read_text()
    assert file.sha256 in readme
    assert "The seeds of 4 games were public: they follow from the numbers of their deals." in readme
    assert "The seeds of 6 games were public: they follow from --seed 5." in readme
    assert "The seeds of 10 games follow from the secret" in readme
    assert json.loads((folder / "results.json").read_text())["seeds"] in readme


def changed(listed, **values):
    return [one._replace(record=replace(one.record, **values)) if k == 3 else one for k, one in enumerate(listed)]


LISTS = {
    "deleted": (lambda listed: listed[:3] + listed[4:], [("list", "the match at place 4 of 20 is missing")]),
    "the last deleted": (lambda listed: listed[:-1], [("list", "the match at place 20 of 20 is missing")]),
    "added": (
        lambda listed: [*listed, listed[3]],
        [("match 4", "has no place in the list"), ("match 4", "comes after match 20")],
    ),
    "moved": (lambda listed: [*listed[:3], listed[4], listed[3], *listed[5:]], [("match 4", "comes after match 5")]),
    "another outcome": (
        lambda listed: changed(listed, returns=listed[3].record.returns[::-1]),
        [("match 4", "does not agree with its digest")],
    ),
    "another action": (
        lambda listed: changed(listed, actions=listed[3].record.actions[:-1] + b"\0"),
        [("match 4", "does not agree with its digest")],
    ),
    "another time": (
        lambda listed: [
            one._replace(entry=one.entry._replace(played_at="2020-01-01T00:00:00+00:00")) if k == 3 else one
            for k, one in enumerate(listed)
        ],
        [("match 4", "does not agree with its digest")],
    ),
    "another place": (
        lambda listed: [
            one._replace(entry=one.entry._replace(sequence=30)) if k == 19 else one for k, one in enumerate(listed)
        ],
        [("list", "the match at place 20 of 20 is missing"), ("match 31", "has no place in the list")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", LISTS)
def test_what_was_done_to_the_records_is_named(league, change):
    make, faults = LISTS[change]
    rewritten(league, make)
    assert RecordsFile(league / NAME).faults() == faults
    told = verify_folder(league, sample=1).faults
    assert told[: len(faults)] == tuple(faults)
    assert ("README.md", f"tells of other records than those in {NAME}") in told


def test_a_forger_who_seals_everything_anew_is_found_by_playing_again(league):
    def forge(listed):
        forged = changed(listed, returns=listed[3].record.returns[::-1])
        return [one._replace(seal=record_seal(one.record, one.entry)) for one in forged]

    file = RecordsFile(league / NAME)
    listed = forge(list(file.listed()))
    seal = ListSeal().extended([one.seal for one in listed])
    write_records(league / NAME, NIM, listed, seal, {"sources": None, "public_seeds": {}})
    forged = RecordsFile(league / NAME)
    assert forged.faults() == []
    readme = league / "README.md"
    readme.write_text(readme.read_text().replace(file.sha256, forged.sha256))
    what = [what for what, _ in verify_folder(league).faults]
    assert what == ["results.csv", "match 4"]


def test_a_table_that_does_not_follow_from_the_records_is_named(league):
    table = league / "results.csv"
    table.write_text(table.read_text().replace("bouton", "button"))
    assert verify_folder(league, sample=1).faults == (
        ("results.csv", "does not follow from the records: bouton, random"),
    )
    table.unlink()
    assert verify_folder(league, sample=1).faults == (("results.csv", "is missing"),)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data + b"more",
        lambda data: b"SQLite format 3\0" + data,
        lambda data: lzma.compress(b'{"format": 9}\n'),
        lambda data: lzma.compress(b"[" * 100_000),
        lambda data: lzma.compress(lzma.decompress(data)[:-1]),
        lambda data: lzma.compress(lzma.decompress(data) + b"\0"),
        lambda data: lzma.compress(lzma.decompress(data).replace(b'["seats","<u4"', b'["seats","<O8"')),
        lambda data: lzma.compress(lzma.decompress(data).replace(b'"matches":20', b'"matches":21')),
        lambda data: lzma.compress(lzma.decompress(data).replace(b'"agents":["', b'"agents":[],"more":["', 1)),
        lambda data: lzma.compress(lzma.decompress(data).replace(b'"game":"toy_nim"', b'"game":"toy_nix"')),
        lambda data: lzma.compress(lzma.decompress(data).replace(b'"version":0', b'"version":7')),
    ],
)
def test_what_is_no_file_of_records_is_refused(league, damage):
    path = league / NAME
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(AsobibaError):
        RecordsFile(path)


def test_more_cores_find_the_same(published):
    listed = list(RecordsFile(published[0] / NAME).listed())
    bad = [changed(listed, moves=99)[3]]
    assert play_again(iter([*listed * 60, *bad]), 1201, jobs=2) == play_again(iter(bad), 1)


def test_the_command_takes_a_folder(published, tmp_path):
    folder = published[0]
    broken = tmp_path / NAME
    broken.write_bytes(b"no XZ")
    sound, missing, both, damaged, replayed, none, written = asobiba_each(
        [
            ("league", "verify", str(folder), "-j", "1"),
            ("league", "verify", f"{folder}/nothing"),
            ("league", "verify", str(folder), "--store", "a.sqlite"),
            ("league", "verify", str(broken)),
            ("replay", str(folder), "3"),
            ("replay", str(folder), "21"),
            ("replay", str(folder / NAME), "3", "-o", str(tmp_path / "match.json")),
        ],
        tmp_path,
    )
    assert sound.returncode == 0
    assert "20 of 20 matches were played again: 0 do not agree" in sound.stdout
    assert missing.returncode == 2
    assert both.returncode == 2
    assert "says itself what was played" in both.stderr
    assert damaged.returncode == 2
    assert "is not a file of records, or damaged" in damaged.stderr
    assert f"{' - '.join(published[1][2].match.seats)}, deal " in replayed.stdout
    assert "has no match '21'; there are 20" in none.stderr
    assert written.returncode == 0
    assert json.loads((tmp_path / "match.json").read_text())["digest"] == published[1][2].digest


def test_every_published_league_verifies():
    """A sample of each; the seals of all. Leagues that were published before there were records are played again."""
    for folder in sorted((ROOT / "leaderboards").iterdir()):
        if (folder / NAME).is_file():
            assert verify_folder(folder, sample=5).faults == (), folder
