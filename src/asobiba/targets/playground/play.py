"""`asobiba play`. It imports its dependencies when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from asobiba.arena.commands import GameName, Parameters, Trusted, open_store, ruleset_of, say_containment

if TYPE_CHECKING:
    from asobiba.arena.trust import Trust
    from asobiba.core import Ruleset


def play(
    game: GameName,
    against: Annotated[
        list[str] | None, typer.Option("--against", help="Opponent; repeat the option for games of more seats.")
    ] = None,
    seat: Annotated[str, typer.Option(help="Your seat: first, second, ..., a number from 1, or random.")] = "first",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the game.  [default: a new game every time]")] = None,
    param: Parameters = None,
    store: Annotated[str | None, typer.Option(help="Save the game in this league store.")] = None,
    name: Annotated[str, typer.Option(help="Your name in the record.")] = "me",
    trust: Trusted = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Play on a page in your browser, with pictures (needs the extra wasm).")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of that page; 0 takes a free one.")] = 8000,
) -> None:
    """Play against agents in the terminal (type ? for help) or, with --browser, in your browser."""
    from asobiba.arena.person import Person, Quit, play_person
    from asobiba.arena.secret import Secret
    from asobiba.arena.trust import Trust, make_player
    from asobiba.core import AsobibaError
    from asobiba.protocols.sandbox import Sandbox

    ruleset = ruleset_of(game, param)
    seats = ruleset.num_players
    place = _seat(ruleset, seat)
    texts = list(against or ()) or ["random"]
    if len(texts) == 1:
        texts *= seats - 1
    if len(texts) != seats - 1:
        raise AsobibaError(f"{game} needs {seats - 1} opponents, {len(texts)} were given")
    trusted = Trust.of(trust)
    say_containment(ruleset, texts, trusted, Sandbox())
    if browser:
        _play_in_browser(ruleset, place, texts, seed, store, port, trusted, ",".join(param or ()) or "default")
        return
    opponents = [make_player(ruleset.game, text, trusted) for text in texts]
    kept = open_store(ruleset, store, create=True) if store else None
    names = [*texts[:place], f"person:{name}", *texts[place:]]
    try:
        given = None if seed is None else Secret.of_seed(seed)
        chosen = kept.secret(ruleset, given) if kept else given or Secret.draw()
        record = play_person(ruleset, Person(), place, opponents, chosen, names)
        if kept:
            kept.write([record], chosen)
            print(f"On record in {kept.place}")
    except Quit:
        print("\nGame ended; nothing was put on record.")
    finally:
        for opponent in opponents:
            opponent.close()
        if kept:
            kept.close()


def _play_in_browser(
    ruleset: Ruleset,
    seat: int,
    texts: list[str],
    seed: int | None,
    store: str | None,
    port: int,
    trust: Trust,
    label: str,
) -> None:
    import secrets

    from rich.console import Console

    from asobiba.arena.trust import make_player
    from asobiba.core import AsobibaError
    from asobiba.targets.playground.local import serve

    if store is not None:
        raise AsobibaError("games on the page are not put on record: give --browser or --store, not both")
    if len(set(texts)) > 1:
        raise AsobibaError(f"on the page all others are one agent, not {', '.join(texts)}")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    serve(
        ruleset,
        texts[0] if texts else "random",
        seat,
        port=port,
        seed=secrets.randbelow(2**62) if seed is None else seed,
        label=label,
        build=lambda game, text: make_player(game, text, trust),
        report=lambda text: console.print(f"[dim]compiling {text} for the page; once, then kept in the cache[/dim]"),
    )


def _seat(ruleset: Ruleset, text: str) -> int:
    import secrets

    from asobiba.core import AsobibaError

    seats = ruleset.num_players
    if text == "random":
        return secrets.randbelow(seats)
    words = ["first", "second", "third", "fourth"]
    if text in ruleset.players:
        return ruleset.players.index(text)
    if text in words[:seats]:
        return words.index(text)
    if text.isdecimal() and len(text) < 4 and 1 <= int(text) <= seats:
        return int(text) - 1
    raise AsobibaError(f"no seat {text!r}: choose {', '.join(ruleset.players)}, a number from 1 to {seats}, or random")
