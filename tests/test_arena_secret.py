"""Whoever plays does not know the seeds: the attack that once won every game, statistics, and replays from a secret."""

from __future__ import annotations

import pickle
import re
import time
from collections.abc import Iterator
from itertools import combinations, count, islice

import numpy as np
import pytest
from arena_tools import asobiba_each

from asobiba.arena.executors import LocalExecutor
from asobiba.arena.league import play_series, run_league
from asobiba.arena.ledger import seeds_note
from asobiba.arena.match import Match, agent_seed
from asobiba.arena.publish import publish
from asobiba.arena.schedule import group_seed, meetings, round_robin
from asobiba.arena.secret import Secret, commitment
from asobiba.arena.store import Store
from asobiba.core import AsobibaError, game
from asobiba.core.random import Stream, memory_keys, seed_keys
from asobiba.core.states import new_state

NIM = game("toy_nim").ruleset()
BATTLESHIP = game("battleship").ruleset(placement="r", height=5, width=6, fleet=(3, 2, 2))
PAIR = ("cb", "r")
SECRET = Secret.of_text("8d1f6c0b5a49e7d2903b4e5f6a7c8d9e")


def guesses(match: Match, known: int) -> Iterator[int]:
    """The seeds of the game that an agent comes to believe in, who knows all but the secret: the game, who plays, how
    deals are numbered, this code, and its own seed `known` at seat 0. It looks for a number from which that seed follows,
    then for the game's seed beside it."""
    for number in count():
        for league, index in ((number, 0), (0, number), (None, number)):
            deal = group_seed(BATTLESHIP, match.seats, league, index)
            played = Match.of(BATTLESHIP, match.seats, deal)
            # As it was once: both seeds follow from the deal's number.
            if known in (agent_seed(deal, 0), agent_seed(number, 0), deal, number):
                yield deal
            # Secrets that one could guess.
            for secret in (
                Secret.of_seed(number),
                Secret(number.to_bytes(16, "big")),
                Secret(number.to_bytes(16, "little")),
            ):
                if secret.seeds(played)[1] == known:
                    yield secret.seeds(played)[0]
        # The game's seed as a neighbour of its own, or what its own generator draws.
        if number < 64:
            for near in (
                known ^ (1 << number),
                known + number,
                abs(known - number),
                agent_seed(known, number),
                known >> number,
            ):
                yield near % 2**63
        yield -1  # nothing found this time


def found_by_attack(match: Match, tries: int) -> bool:
    """Whether the agent at seat 0 finds the fleet of the other side, by trying so many numbers."""
    hidden = new_state(BATTLESHIP, match.game_seed)["fleet"]
    tried = 0
    for guess in guesses(match, match.agent_seed(0)):
        if guess < 0:
            tried += 1
            if tried == tries:
                return False
            continue
        dealt = new_state(BATTLESHIP, guess)["fleet"]
        if (dealt[0] == hidden[0]).all():  # its own fleet, which it sees
            return bool((dealt[1] == hidden[1]).all())
    raise AssertionError


def league_match(secret: Secret | None, index: int) -> Match:
    match = next(islice(meetings(BATTLESHIP, PAIR, 100, None if secret is None else secret.seed), index, None))
    return match if secret is None else secret.deal(match)


def test_an_agent_finds_everything_where_seeds_are_public():
    """The attack works: what follows from public numbers is found, as it was in every league before there were secrets."""
    assert found_by_attack(league_match(None, 20), tries=40)
    assert found_by_attack(league_match(Secret.of_seed(11), 0), tries=40)


def test_an_agent_that_knows_all_but_the_secret_finds_nothing():
    assert not any(found_by_attack(league_match(Secret.draw(), index), tries=150) for index in range(6))


@pytest.mark.slow
def test_an_agent_that_searches_for_two_minutes_finds_nothing():
    match, until = league_match(Secret.draw(), 0), time.monotonic() + 120
    hidden = new_state(BATTLESHIP, match.game_seed)["fleet"]
    for guess in guesses(match, match.agent_seed(0)):
        if guess >= 0:
            assert not (new_state(BATTLESHIP, guess)["fleet"] == hidden).all()
        elif time.monotonic() > until:
            break


MATCHES = 4000


def bits_of(values) -> np.ndarray:
    """The 64 bits of numbers, as +1 and -1: `(n, 64)`; what never changes is left out."""
    words = np.asarray(values, np.uint64)
    found = ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(np.float32) * 2 - 1
    return found[:, np.abs(found.mean(0)) < 1]


def greatest_correlation(one, other) -> float:
    """In standard deviations: the greatest of all correlations of a bit of `one` with a bit of `other`."""
    a, b = bits_of(one), bits_of(other)
    return float(np.abs(a.T @ b).max() / np.sqrt(len(a)))


def test_streams_of_game_agents_and_schedule_are_not_correlated():
    """Every bit of one against every bit of the other, in 4,000 matches. Of about 60,000 correlations of independent bits
    one in 3,000 runs exceeds 5.9 standard deviations; seeds that have anything in common exceed 60."""
    matches = [SECRET.deal(Match.of(NIM, ("random", "bouton"), group_seed(NIM, "ab", None, k))) for k in range(MATCHES)]
    seeds = np.array([match.seeds for match in matches], np.uint64)
    streams = {
        "deal": np.array([match.seed for match in matches]),
        "game": seeds[:, 0],
        "agent at seat 0": seeds[:, 1],
        "agent at seat 1": seeds[:, 2],
        "the game's generator": seed_keys(seeds[:, 0], Stream.GAME),
        "the generator of the agent at seat 0": memory_keys(seeds[:, 1], np.zeros(MATCHES, int)),
    }
    for one, other in combinations(streams, 2):
        assert greatest_correlation(streams[one], streams[other]) < 5.9, (one, other)
    assert greatest_correlation(streams["game"], streams["game"] ^ np.uint64(5)) > 60


def test_generators_of_game_and_agents_are_not_correlated():
    """The keys from which the three generators of 4,000 matches draw: correlations below 5 standard deviations."""
    matches = [SECRET.deal(Match.of(NIM, ("random", "bouton"), k)) for k in range(MATCHES)]
    seeds = np.array([match.seeds for match in matches], np.uint64)
    keys = [seed_keys(seeds[:, 0], Stream.GAME), *(memory_keys(seeds[:, 1 + k], np.full(MATCHES, k)) for k in range(2))]
    draws = np.array(keys, np.float64)
    correlations = np.corrcoef(draws)[np.triu_indices(3, 1)] * np.sqrt(MATCHES)
    assert (np.abs(correlations) < 5).all(), correlations


def test_a_secret_is_read_and_committed_to():
    assert Secret.of_text(SECRET.text.upper() + "\n") == SECRET
    assert commitment(SECRET.text) == SECRET.commitment
    assert SECRET.text not in repr(SECRET)
    assert Secret.draw() != Secret.draw()
    assert Secret.of_seed(3) == Secret.of_seed(3) != Secret.of_seed(4)
    for wrong in ("", "12", "g" * 32, "é" * 32, "٣" * 32):
        with pytest.raises(AsobibaError, match="32 hexadecimal digits"):
            Secret.of_text(wrong)
    with pytest.raises(AsobibaError, match="not both"):
        Secret.chosen(1, SECRET.text)


def test_a_deal_is_shared_by_its_seatings_and_an_agents_seed_by_no_two_matches():
    one, other = SECRET.deal_all(meetings(NIM, ("random", "bouton"), 2, None))
    assert one.seats == other.seats[::-1]
    assert one.game_seed == other.game_seed
    assert len({*one.seeds[1:], *other.seeds[1:], one.game_seed}) == 5
    assert one.key == Match.of(NIM, one.seats, one.seed).key


def test_who_may_remember_the_first_game_gets_another_deal_for_the_second():
    """An agent that is not ours may know in its second game of a deal what was hidden in the first."""
    ours = list(meetings(NIM, ("random", "bouton"), 4, None))
    theirs = list(meetings(NIM, ("random", "file:clever.py"), 4, None))
    assert len({match.seed for match in ours}) == 2
    assert len({match.seed for match in theirs}) == 4
    assert {match.seed for match in round_robin(NIM, ["random", "file:clever.py"], 4)} == {m.seed for m in theirs}


def played(store: Store) -> dict[str, tuple]:
    results = store.results(NIM)
    records = [store.record(number) for number in results.number.tolist()]
    return {r.match.key: (r.match, r.actions, r.returns, r.digest, r.decisions, r.moves, r.reason) for r in records}


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    path = tmp_path_factory.mktemp("secret") / "nim.sqlite"
    with Store(path) as store:
        run_league(NIM, ["random", "bouton"], store, LocalExecutor(1), games=12)
    return path


def test_a_league_replayed_from_its_published_secret_is_equal_to_the_byte(league, tmp_path):
    with Store(league) as store:
        (used,) = store.secrets(NIM)
        assert used.secret is None
        assert used.commitment in seeds_note([used])
        before = played(store)
        page = publish(NIM, store, store.results(NIM), tmp_path / "page")
        (used,) = store.secrets(NIM)
    text = (page.parent / "README.md").read_text()
    secret = Secret.of_text(re.search(r"secret ([0-9a-f]{32})", text)[1])
    assert secret.commitment == used.commitment
    with Store(tmp_path / "again.sqlite") as store:
        run_league(NIM, ["random", "bouton"], store, LocalExecutor(1), games=12, secret=secret)
        assert played(store) == before
    with Store(tmp_path / "another.sqlite") as store:
        run_league(NIM, ["random", "bouton"], store, LocalExecutor(1), games=12)
        assert played(store).keys() == before.keys()
        assert played(store) != before


def test_after_publication_games_get_a_new_secret(league, tmp_path):
    with Store(league) as store:
        store.publish_secrets(NIM)
        store.publish_secrets(NIM)
        old = store.secrets(NIM)[-1]
        assert store.secret(NIM).commitment != old.commitment
        assert store.secret(NIM) == store.secret(NIM)
        run_league(NIM, ["random", "bouton"], store, LocalExecutor(1), games=14)
        fresh = store.secrets(NIM)[-1]
        assert (fresh.games, fresh.public, fresh.secret) == (2, 0, None)
        assert "not published yet" in seeds_note([fresh])
        run_league(NIM, ["random", "bouton"], store, LocalExecutor(1), games=2, secret=Secret.of_seed(4))
        public = store.secrets(NIM)[-1]
        assert (public.games, public.public) == (2, 2)
        assert seeds_note([public]) == "The seeds of 2 games were public: they follow from --seed 4."
        with pytest.raises(ValueError, match="do not follow"):
            store.write([store.record(1)], Secret.draw())


def test_what_goes_to_processes_does_not_hold_the_secret():
    """Workers get the seeds of their matches, contained agents their own."""
    matches = SECRET.deal_all(meetings(NIM, ("random", "bouton"), 10, None))
    sent = pickle.dumps(matches)
    assert SECRET.bits not in sent
    assert SECRET.text.encode() not in sent


SPY = """
import os, sys, pathlib
from asobiba.core import Agent

class Spy(Agent):
    def reset(self, ruleset, seat, seed):
        seen = [*sys.argv, *(f"{k}={v}" for k, v in os.environ.items())]
        raise RuntimeError(f"seed {seed} " + " ".join(word for word in seen if any(c.isdigit() for c in word)))

    def act(self, view, legal):
        return 0
"""


def test_a_contained_agent_is_told_its_own_seed_and_no_other(tmp_path):
    (tmp_path / "spy.py").write_text(SPY)
    match = SECRET.deal(Match.of(NIM, (f"file:{tmp_path}/spy.py", "random"), 77))
    (record,) = play_series(NIM, [match], LocalExecutor(1))
    assert (record.reason, record.culprit) == ("crash", 0)
    assert f"seed {match.agent_seed(0)}" in record.detail
    for seed in (match.game_seed, match.agent_seed(1)):
        assert str(seed) not in record.detail


def test_commands_tell_whether_seeds_were_secret(tmp_path):
    match = ("match", "toy_nim", "random", "bouton", "-n", "6", "-j", "1")
    secret, again, public = asobiba_each([match, (*match, "--secret", SECRET.text), (*match, "--seed", "3")], tmp_path)
    assert re.search(r"--secret [0-9a-f]{32}", secret.stdout)
    assert f"--secret {SECRET.text}" in again.stdout
    assert "public: they follow from --seed 3" in public.stdout
