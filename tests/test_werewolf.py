"""The rules of werewolf against an independent plain engine, what views tell, and the platform's text."""

import numpy as np
import pytest
from werewolf_reference import Village

from asobiba import game
from asobiba.core import GameParameterError, NotationError, states
from asobiba.envs.werewolf import layout
from asobiba.envs.werewolf.notation import decode, encode, end_text, parse_sentence, sentence_text, status_text

WEREWOLF = game("werewolf")
CLASSIC = WEREWOLF.ruleset()
SETTINGS = [
    {"players": 15, "rules": "2016"},
    {"players": 15, "rules": "0.6"},
    {"players": 5, "rules": "2016"},
    {"players": 9, "rules": "0.6", "talk": "turn"},
    {"players": 10, "rules": "2016", "talk": "turn", "max_talk": 3},
]


def random_action(ruleset, state, generator, quiet):
    """A legal action of everybody who acts; `quiet` is the chance of Over in talk."""
    masks = states.action_mask(ruleset, state)
    action = np.zeros(ruleset.seats, np.int64)
    for k in ruleset.actors(state):
        legal = np.flatnonzero(masks[k])
        talking = int(state["phase"]) in (layout.TALK, layout.WHISPER)
        action[k] = legal[0] if talking and generator.random() < quiet else generator.choice(legal)
    return action, masks


def words_of(ruleset, action):
    act, target, _ = (int(x) for x in decode(ruleset.seats, int(action)))
    return (layout.ACTS[act], target + 1)


def play(ruleset, seed, quiet=0.7):
    """States of a random game, with the action that leads from each to the next."""
    generator = np.random.default_rng(seed)
    state = states.new_state(ruleset, seed)
    while not states.is_over(state):
        action, masks = random_action(ruleset, state, generator, quiet)
        after = states.step(ruleset, state, action)
        yield state, action, masks, after
        state = after


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_random_games_are_those_of_the_plain_engine(parameters):
    ruleset = WEREWOLF.ruleset(**parameters)
    for seed in range(6):
        village = None
        for before, action, masks, after in play(ruleset, seed):
            if village is None:
                village = Village(
                    before,
                    ruleset.num_players,
                    parameters["rules"] == "0.6",
                    parameters.get("talk") == "turn",
                    parameters.get("max_talk", 10),
                )
            acting = {int(k) + 1 for k in ruleset.actors(before)}
            phase = layout.PHASES[int(before["phase"])]
            assert phase == village.phase
            assert int(before["day"]) == village.day
            if parameters.get("talk") == "turn" and phase in ("talk", "whisper"):
                assert len(acting) == 1
                assert acting <= village.acting()
            else:
                assert acting == village.acting()
            if phase in ("vote", "night"):
                for k in acting:
                    named = {words_of(ruleset, a)[1] for a in np.flatnonzero(masks[k - 1]) if a > 1}
                    assert named == village.targets(k)
                    assert bool(masks[k - 1, 1]) == (phase == "night")
            village.step({k: words_of(ruleset, action[k - 1]) for k in acting}, after)
            assert {k + 1 for k in range(ruleset.num_players) if not after["left"][k]} == village.alive
            seen = {d: int(x) for d, x in enumerate(after["divine"]) if x}
            assert seen == {d: target for d, (target, _) in village.seen.items()}
            for d, (_, result) in village.seen.items():
                assert layout.SPECIES[int(after["divine_result"][d]) - 1] == result
            for d, result in village.identified.items():
                assert layout.SPECIES[int(after["medium_result"][d]) - 1] == result
        won = {k + 1 for k in range(ruleset.num_players) if after["rewards"][k] > 0}
        side = {k for k, role in village.role.items() if role in ("WEREWOLF", "POSSESSED")}
        assert won == (side if village.winner == "WEREWOLF" else set(village.role) - side)
        assert (after["rewards"][: ruleset.num_players] != 0).all()


@pytest.mark.parametrize("players", sorted(layout.VILLAGES))
def test_villages_have_the_platforms_roles(players):
    state = states.new_state(WEREWOLF.ruleset(players=players), 3)
    dealt = np.bincount(state["role"][:players], minlength=7)[1:]
    assert tuple(dealt) == layout.VILLAGES[players]
    assert (state["left"][players:] == 1).all()


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_views_hide_everything_else_and_resampled_games_look_the_same(parameters):
    ruleset = WEREWOLF.ruleset(**parameters)
    seen = 0
    for seed in range(3):
        for number, (state, *_) in enumerate(play(ruleset, 50 + seed, quiet=0.9)):
            if number % 4:
                continue
            for seat in range(ruleset.num_players):
                view = states.view_of(ruleset, state, seat)
                other = states.resample(ruleset, state, seat, 7 * number)
                assert states.view_of(ruleset, other, seat).tobytes() == view.tobytes()
                states.require_valid(ruleset, other)
                assert (states.observation(ruleset, other, seat) == states.observation(ruleset, view, seat)).all()
                seen += 1
    assert seen > 50


def test_who_is_not_asked_cannot_tell_how_often_the_wolves_whisper():
    ruleset = CLASSIC
    generator = np.random.default_rng(1)
    state = states.new_state(ruleset, 1)
    villager = int(np.flatnonzero(state["role"] == layout.VILLAGER)[0])
    quiet = np.zeros(ruleset.seats, np.int64)
    assert int(state["phase"]) == layout.TALK
    state = states.step(ruleset, state, quiet)
    views = []
    while int(state["phase"]) == layout.WHISPER:
        assert not state["acting"][villager]
        views.append(states.view_of(ruleset, state, villager).tobytes())
        talkative = np.where(state["acting"], 1, 0) if len(views) < 5 else quiet
        state = states.step(ruleset, state, talkative)
    assert int(state["phase"]) == layout.NIGHT
    views.append(states.view_of(ruleset, state, villager).tobytes())
    assert len(views) == 6
    assert len(set(views)) == 1
    assert generator is not None


def test_votes_of_2016_are_told_the_next_day_and_those_of_the_contests_at_once():
    for rules, told in (("2016", False), ("0.6", True)):
        ruleset = WEREWOLF.ruleset(players=5, rules=rules)
        for before, _, _, after in play(ruleset, 4, quiet=1.0):
            if int(before["phase"]) == layout.VOTE and int(after["day"]) == int(before["day"]):
                views = [states.view_of(ruleset, after, seat) for seat in range(5)]
                day = int(after["day"])
                counts = [int((view["votes"][day, 0] > 0).sum()) for view in views]
                voters = int((before["left"] == 0).sum())
                assert counts == [voters if told else int(not before["left"][k]) for k in range(5)]


def test_who_is_executed_in_2016_stays_among_the_targets_of_the_attack():
    """The engine marks the dead when the next day begins, and its lot may hit a player it has just executed."""
    ruleset = WEREWOLF.ruleset(deal="vvvvvvvvsmbpwww")  # agent 1 is a villager
    quiet, nights = 0, 240
    for seed in range(nights):
        state = states.new_state(ruleset, seed)
        while int(state["day"]) < 2:
            voting = int(state["phase"]) == layout.VOTE
            night = int(state["phase"]) == layout.NIGHT
            action = np.full(15, encode(15, layout.VOTING, 0, 0) if voting else int(night))
            if voting:
                action[0] = encode(15, layout.VOTING, 1, 0)
            state = states.step(ruleset, state, action)
        assert int(state["executed"][1]) == 1
        assert int(state["attack"][1]) == int(state["victim"][1]) != 1
        quiet += int(state["victim"][1]) == 0
    # The lot is drawn among 12 humans, the executed one of them: within four standard deviations of 1 in 12.
    assert abs(quiet - nights / 12) < 4 * (nights * 11 / 144) ** 0.5


def test_who_said_over_in_2016_is_asked_last_and_only_if_somebody_speaks():
    ruleset = WEREWOLF.ruleset(players=5, talk="turn", deal="vvspw")
    skip, over = np.ones(15, np.int64), np.zeros(15, np.int64)
    seen = set()
    for seed in range(20):
        state = states.new_state(ruleset, seed)

        def round_of_talk(state, speaks):
            asked = []
            while int(state["phase"]) == layout.TALK and int(state["day"]) == 0:
                asked.append(int(np.flatnonzero(state["acting"])[0]))
                state = states.step(ruleset, state, skip if asked[-1] in speaks else over)
            while int(state["phase"]) == layout.WHISPER:
                state = states.step(ruleset, state, over)
            return state, asked

        state, asked = round_of_talk(state, speaks={0, 1})
        assert sorted(asked) == [0, 1, 2, 3, 4]
        last = max(asked.index(0), asked.index(1))
        late = sorted(asked[last + 1 :])  # who said Over after the last who spoke
        first = [k for k in range(5) if k not in late]
        state, asked = round_of_talk(state, speaks=set(first))
        assert sorted(asked[: len(first)]) == first
        assert asked[len(first) :] == late
        if late:
            state, asked = round_of_talk(state, speaks=set())
            assert sorted(asked) == first
        seen.add(len(late))
    assert len(seen) > 1


def test_an_action_outside_the_mask_is_replaced_as_the_platform_does_it():
    state = states.new_state(CLASSIC, 2)
    talk = np.zeros(15, np.int64)
    bad = talk.copy()
    bad[3] = 10_000
    after = states.step(CLASSIC, state, bad, strict=False)
    assert after["faults"][3] == 1
    assert not after["terminated"]
    assert int(after["phase"]) == layout.WHISPER
    while int(after["phase"]) != layout.VOTE:
        after = states.step(CLASSIC, after, np.where(after["phase"] == layout.NIGHT, 1, 0) * np.ones(15, np.int64))
    voter = int(np.flatnonzero(after["acting"])[0])
    votes = np.array([encode(15, layout.VOTING, 1 if k == 0 else 0, 0) for k in range(15)])
    votes[voter] = encode(15, layout.VOTING, voter, 0)  # for himself
    done = states.step(CLASSIC, after, votes, strict=False)
    cast = int(done["votes"][1, 0, voter]) - 1
    assert cast not in (-1, voter)
    assert not after["left"][cast]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"players": 4}, "5 to 15"),
        ({"players": 16}, "5 to 15"),
        ({"players": 6, "seats": 5}, "seats is 5"),
        ({"rules": "0.5"}, "0.5"),
        ({"talk": "loud"}, "round"),
        ({"max_talk": 0}, "max_talk"),
        ({"players": 5, "deal": "wwvvv"}, "x VILLAGER"),
        ({"players": 5, "deal": "vvv"}, "5 letters"),
        ({"survival": 2.0}, "survival"),
    ],
)
def test_parameters_that_make_no_village_are_refused(parameters, message):
    with pytest.raises(GameParameterError, match=message):
        WEREWOLF.ruleset(**parameters)


def test_a_deal_is_kept():
    state = states.new_state(WEREWOLF.ruleset(players=5, deal="?ws??"), 9)
    assert list(state["role"][1:3]) == [layout.WEREWOLF, layout.SEER]


def test_a_person_is_told_what_is_asked_and_who_won():
    ruleset = WEREWOLF.ruleset(players=5, deal="vvspw")
    seen, state = set(), None
    for before, _, _, after in play(ruleset, 2, quiet=0.9):
        for seat in ruleset.actors(before):
            seen.add(status_text(ruleset, states.view_of(ruleset, before, int(seat)), int(seat)))
        state = after
    assert {"day 0, talk, 10 utterances left", "day 1, vote", "night 1, whom do you attack?"} <= seen
    told = [end_text(ruleset, state, seat) for seat in range(5)]
    wolves_won = state["rewards"][4] > 0
    assert told[4].endswith("you, the werewolf, win" if wolves_won else "you, the werewolf, lose")
    assert told[0].startswith("the werewolves and the possessed win" if wolves_won else "the villagers win")


TALKING = [
    ("0.6", "COMINGOUT Agent[01] SEER"),
    ("0.6", "ESTIMATE Agent[03] POSSESSED"),
    ("0.6", "DIVINED Agent[04] WEREWOLF"),
    ("0.6", "IDENTIFIED Agent[04] HUMAN"),
    ("2016", "INQUESTED Agent[04] HUMAN"),
    ("0.6", "GUARDED Agent[02]"),
    ("0.6", "VOTE Agent[02]"),
    ("0.6", "DIVINATION Agent[05]"),
    ("0.6", "Over"),
    ("2016", "Skip"),
    ("0.6", "REQUEST Agent[02] (VOTE Agent[05])"),
    ("0.6", "BECAUSE (DAY 1 (DIVINED Agent[02] WEREWOLF)) (VOTE Agent[02])"),
    ("0.6", "XOR (ESTIMATE Agent[02] WEREWOLF) (NOT (ESTIMATE Agent[03] SEER))"),
]


@pytest.mark.parametrize(("rules", "text"), TALKING)
def test_sentences_of_both_generations_are_read_and_written(rules, text):
    ruleset = WEREWOLF.ruleset(players=5, rules=rules, operators="(" in text)
    state = states.new_state(ruleset, 0)
    words = [decode(ruleset.seats, action) for action in parse_sentence(ruleset, state, 0, text)]
    rows = [(int(act), int(target) + 1, int(value)) for act, target, value in words]
    assert sentence_text(ruleset, state, 0, rows) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "VOTE",
        "VOTE Agent[06]",
        "VOTE Agent[01] Agent[02]",
        "COMINGOUT Agent[02] SEER",
        "Agent[02] VOTE Agent[03]",
        "NOT (VOTE Agent[02])",
        "DIVINED Agent[02] ANY",
        "AGREE TALK day1 ID:0",
        "VOTE Agent[02]) (",
    ],
)
def test_other_text_is_no_sentence_of_this_game(text):
    ruleset = WEREWOLF.ruleset(players=5)
    with pytest.raises(NotationError):
        parse_sentence(ruleset, states.new_state(ruleset, 0), 0, text)


def test_composed_sentences_are_said_word_by_word_and_heard_whole():
    ruleset = WEREWOLF.ruleset(players=5, operators=True)
    state = states.new_state(ruleset, 0)
    text = "BECAUSE (DIVINED Agent[02] WEREWOLF) (REQUEST Agent[03] (VOTE Agent[02]))"
    words = parse_sentence(ruleset, state, 0, text)
    for number, word in enumerate(words):
        action = np.zeros(ruleset.seats, np.int64)
        action[0] = word
        assert states.action_mask(ruleset, state)[0, word]
        assert state["talk_rows"] == 0
        assert state["acting"][0]
        if number:
            assert state["acting"].sum() == 1
        state = states.step(ruleset, state, action)
    assert state["talk_rows"] == len(words)
    rows = [tuple(int(x) for x in row[3:]) for row in state["talk"][: len(words)]]
    assert sentence_text(ruleset, state, 0, rows) == text
    assert not state["reported"].any()


def test_agreeing_refers_to_the_latest_utterance():
    ruleset = WEREWOLF.ruleset(players=5)
    state = states.new_state(ruleset, 0)
    # The others skip: who says Over is not asked again.
    action = np.full(ruleset.seats, parse_sentence(ruleset, state, 0, "Skip")[0], np.int64)
    action[1] = parse_sentence(ruleset, state, 1, "ESTIMATE Agent[03] SEER")[0]
    state = states.step(ruleset, state, action)
    while int(state["phase"]) == layout.WHISPER:
        state = states.step(ruleset, state, np.zeros(ruleset.seats, np.int64))
    agree = parse_sentence(ruleset, state, 0, "AGREE TALK day0 ID:0")[0]
    assert states.action_mask(ruleset, state)[0, agree]
    action[:] = 0
    action[0] = agree
    state = states.step(ruleset, state, action)
    assert [int(x) for x in state["talk"][1]] == [0, 2, 1, layout.AGREE, 2, 1]
