"""A person at the terminal: the first prompt, the rules, and lines that are not cut within words."""

from __future__ import annotations

import re

from asobiba import game
from asobiba.arena.lists import console, print_games
from asobiba.arena.person import Person, rules_text, say_wrapped, tables
from asobiba.core.states import action_mask, new_state

RULES = game("animal_shogi").ruleset()


def test_the_first_prompt_says_what_to_do_and_a_question_mark_tells_the_rules():
    said, typed = [], iter(["?", "B3B2", "B3B2"])
    person = Person(lambda prompt: next(typed), said.append)
    person.reset(RULES, 0, 0)
    state = new_state(RULES, 0)
    person.act(state, action_mask(RULES, state))
    assert said[0] == "Animal shogi: you are first (seat 1 of 2)."
    assert said[2].startswith("Type a move and Enter; ? tells the rules. Legal moves: ")
    assert "A player wins by catching the lion" in said[3]
    before = len(said)
    person.act(state, action_mask(RULES, state))
    assert len(said) == before + 1  # once is enough


def test_the_rules_of_every_game_are_told_without_the_interface():
    for name in ("werewolf", "curling", "bao"):
        text = rules_text(game(name))
        assert "DESCRIPTION\n" in text
        assert "Box(" not in text
        assert "```" not in text
        assert "import " not in text


def test_tables_of_the_rules_are_told_with_them():
    told = rules_text(game("tactics"))
    assert "`units.yml`" in told
    assert tables(game("tactics"))["units.yml"].strip() in told
    assert tables(game("bao")) == {}


def test_lines_break_between_words_where_the_width_is_known(monkeypatch, capsys):
    text = f"* {rules_text(RULES.game)}"
    monkeypatch.setenv("COLUMNS", "30")
    say_wrapped(text)
    wrapped = capsys.readouterr().out
    assert max(map(len, wrapped.splitlines())) <= 30
    assert re.sub(r"\s+", " ", wrapped).strip() == re.sub(r"\s+", " ", text)
    monkeypatch.delenv("COLUMNS")
    say_wrapped(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_piped_tables_are_as_wide_as_columns_says(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "64")
    assert console().width == 64
    print_games()
    assert max(map(len, capsys.readouterr().out.splitlines())) == 64
    monkeypatch.delenv("COLUMNS")
    assert console().width == 220
