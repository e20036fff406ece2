"""`asobiba reproduce werewolf`, and its like: fit, roles, serve, join."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from asobiba.progress import progress_bar

app = typer.Typer(help="Werewolf: the published table, and AIWolf servers and clients.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Werewolf: the published table, and AIWolf servers and clients."""


@app.command()
def reproduce(
    full: Annotated[bool, typer.Option("--full", help="110,000 games a theory, as the paper; else 5,000.")] = False,
    games: Annotated[int | None, typer.Option(min=100, help="Games a theory, instead.")] = None,
    output: Annotated[Path, typer.Option(help="The Markdown file to write.")] = Path("werewolf-reproduction.md"),
) -> None:
    """Replay the paper's table of theories, with a sensitivity table and the villagers' theories."""
    from rich.console import Console
    from rich.markdown import Markdown

    from asobiba.baselines.werewolf.published import GAMES
    from asobiba.baselines.werewolf.reproduction import markdown, planned, play_all

    number = games or (GAMES if full else 5_000)
    side, part = min(number, 10_000), min(number, 2_000)
    output.parent.mkdir(parents=True, exist_ok=True)
    with progress_bar(counted=True) as bar:
        task = bar.add_task("games", total=planned(number, side, part))
        results = play_all(number, side, part, lambda key, n: bar.update(task, advance=n, description=key))
    command = "asobiba reproduce werewolf" + (" --full" if full else f" --games {games}" if games else "")
    text = markdown(results, command)
    output.write_text(text, encoding="utf-8")
    console = Console()
    console.print(Markdown(text))
    console.print(f"Written to {output}")


@app.command()
def measure(
    games: Annotated[int, typer.Option(min=1, help="Games a cell of the agents that are kernels.")] = 1_000,
    slow: Annotated[int, typer.Option(min=1, help="Games a cell of the multi-perspective agent.")] = 30,
    among: Annotated[
        list[str] | None, typer.Option(help="Only in the village of this agent: basic, sample or kanolab.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="A file that keeps finished games, so that a run can be taken up again.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The Markdown file to write.")] = Path("werewolf-fifteen.md"),
) -> None:
    """Measure every agent in every role of the village of fifteen, the multi-perspective agent too."""
    from asobiba.baselines.werewolf.fifteen import FIELDS, write_page

    with progress_bar() as bar:
        task = bar.add_task("games", total=None)
        command = f"asobiba measure werewolf --games {games} --slow {slow}"
        command += "".join(f" --among {name}" for name in among or ())
        told = lambda what: bar.update(task, description=what)  # noqa: E731
        write_page(output, command, (games, slow), among or FIELDS, keep, told)
    typer.echo(f"Written to {output}")


@app.command()
def roles(
    param: Annotated[list[str] | None, typer.Option("--param", "-p", metavar="KEY=VALUE", help="Of the game.")] = None,
    store: Annotated[str | None, typer.Option(help="The league's store, if it is not the default one.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("leaderboards/werewolf/roles.md"),
) -> None:
    """Rate the agents of a league by role, and write the page."""
    from asobiba.arena.commands import open_store, ruleset_of
    from asobiba.baselines.werewolf.roles import games_of, markdown

    ruleset = ruleset_of("werewolf", param)
    with open_store(ruleset, store, create=False) as kept:
        results = kept.results(ruleset)
        games = games_of(ruleset, results, kept.game_seeds(ruleset, results.number))
    if not len(games.seats):
        typer.echo(f"Error: the league holds no finished game of {ruleset!r}", err=True)
        raise typer.Exit(1)
    options = "".join(f" -p {text}" for text in param or ())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(markdown(ruleset, games, f"asobiba roles werewolf{options}"), encoding="utf-8")
    typer.echo(f"Written to {output}")


_FITTED = """The point tables of the multi-perspective agent. The paper prints none. How many points a row has in all, the
estimates and the probabilities of claims were set by hand; how a row shares its points out among the roles, and the
pairs, were counted over games, self-play among them, by
    {command}
Columns: villager (and bodyguard), seer, medium, possessed, werewolf. 0 means that the player cannot have the role.
Results and estimates are scaled with the trust in their speaker; agreement is of a seer's result with a medium's. Pairs:
how far a deed speaks for both being werewolves, 0 to 100; 50 is neutral. Claiming: probabilities of a claim when nobody
has claimed, when a rival has, and when a werewolf was found; for the possessed by how many have claimed: none, one, more."""


@app.command()
def fit(
    games: Annotated[int, typer.Option("-n", "--games", min=1, help="Games of each mixture of agents.")] = 200,
    slow: Annotated[int, typer.Option(min=0, help="Games of each mixture with the agent itself.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of the games.")] = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="The YAML file.")] = Path(
        "baselines/werewolf/perspective.yml"
    ),
) -> None:
    """Fit the point tables of the multi-perspective agent to games, its own among them."""
    from asobiba.baselines.werewolf.fitting import as_text, played
    from asobiba.baselines.werewolf.fitting import fit as fit_tables
    from asobiba.core import game

    ruleset = game("werewolf").ruleset()
    quick = [["basic"], ["sample"], ["basic", "sample"], ["basic:theory=C", "basic", "sample"], ["basic:theory=E"]]
    own = [["perspective"], ["perspective", "basic"], ["perspective", "sample"]]
    total = games * len(quick) + slow * len(own)
    with progress_bar(counted=True) as bar:
        task = bar.add_task("games", total=total)

        def counted() -> Iterator[Any]:
            for state in chain(played(ruleset, quick, games, seed), played(ruleset, own, slow, seed + 1_000_000)):
                bar.update(task, advance=1)
                yield state

        tables = fit_tables(counted(), ruleset.num_players)
    command = f"asobiba fit werewolf --games {games} --slow {slow} --seed {seed}"
    output.write_text(as_text(tables, _FITTED.format(command=command)), encoding="utf-8")
    typer.echo(f"Written to {output}")


_AGENT = Annotated[str, typer.Option(help="Our agent, as `asobiba agents werewolf` lists it.")]


def _tell_missing(peers: list, wanted: int, wait: float, fill: str | None) -> None:
    """Says which clients have come in time. Raises `typer.Exit` if nobody takes the others' seats."""
    came = ", ".join(repr(peer.name) for peer in peers) or "nobody"
    typer.echo(f"{wanted - len(peers)} of {wanted} clients are missing after {wait:g} s; {came} came", err=True)
    if fill is None:
        typer.echo(
            "No game is played. Wait longer (--wait), or let our agents take their seats (--fill basic).", err=True
        )
        for peer in peers:
            peer.close()
        raise typer.Exit(1)
    typer.echo(f"{fill} takes their seats", err=True)


def _kind_of_table(players: int, rules: str, language: str | None, first_talk: bool) -> tuple[Any, Any, Any]:
    """The rules of a hosted game, its table, and what greets its clients. `language`: of tables in natural language."""
    from functools import partial

    from asobiba.baselines.werewolf import hosting, nlp_hosting
    from asobiba.baselines.werewolf.language import Speech
    from asobiba.core import game

    if language is not None:
        Speech((), language)
        return (
            nlp_hosting.village(players),
            partial(nlp_hosting.SpokenTable, language=language, first_talk=first_talk),
            nlp_hosting.receive_speakers,
        )
    ruleset = game("werewolf").ruleset(players=players, rules=rules, talk="turn", operators=rules == "0.6")
    return ruleset, hosting.HostedGame, hosting.receive_peers


def _wanted(clients: int | None, players: int, fill: str | None) -> int:
    """Clients to wait for. Raises `typer.BadParameter` for a number that leaves seats empty, or does not fit."""
    wanted = clients if clients is not None else (players if fill is None else 1)
    if wanted > players:
        raise typer.BadParameter(f"{wanted} clients do not fit into a village of {players}")
    if wanted < players and fill is None:
        raise typer.BadParameter(
            f"{wanted} clients leave {players - wanted} of {players} seats empty: say --fill basic, or another of our "
            f"agents, or --clients {players}"
        )
    return wanted


def _clients_of(
    server: Any, enter: Callable[[], Any], warm_up: Callable[[], Any], sets: list[tuple[int, int]], wait: float
) -> Iterator[tuple[list[Any], int, int]]:
    """The clients of each set of games, with its number of games and the number of its first.

    While the first clients come, `warm_up` plays: what is compiled then costs no client his time.
    """
    reception = enter()
    warm_up()
    for k, (count, begin) in enumerate(sets):
        if k > 0:
            reception = enter()
        peers = reception.wait(wait)
        if k + 1 == len(sets):
            server.close()
        yield peers, count, begin
        for peer in peers:
            peer.close()


@app.command()
def serve(
    clients: Annotated[
        int | None, typer.Option(min=0, help="Clients to wait for; all players, or with --fill one, if left out.")
    ] = None,
    players: Annotated[int, typer.Option(min=5, max=15, help="Players in the village.")] = 15,
    rules: Annotated[str, typer.Option(help="Generation of the platform: 2016 or 0.6.")] = "0.6",
    games: Annotated[int, typer.Option("-n", "--games", min=1, help="Games to play.")] = 1,
    fill: Annotated[str | None, typer.Option(help="Our agent for the empty seats, for instance basic.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 10000,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the clients.")] = 60.0,
    reply: Annotated[float, typer.Option(help="Seconds that a reply may take.")] = 1.0,
    token: Annotated[
        str, typer.Option(envvar="ASOBIBA_TOKEN", help="Only clients that give their name as NAME:TOKEN may play.")
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Deal games that clients may foresee.  [default: a secret that is told at the end]"),
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Folder for the platform's game logs.")] = None,
    store: Annotated[str | None, typer.Option(help="The league's store that receives the games.")] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Host clients in natural language over WebSockets; our agents speak ja or en.", metavar="ja|en"
        ),
    ] = None,
    first_talk: Annotated[bool, typer.Option(help="With --language: talk on day 0.")] = True,
) -> None:
    """Host AIWolf clients over TCP, or with --language over WebSockets. With --fill, our agents take the empty seats."""
    import socket
    from functools import partial

    from asobiba.arena.secret import Secret
    from asobiba.arena.store import Store, chosen_store
    from asobiba.baselines.werewolf.hosting import Hosted, in_short, play_set
    from asobiba.core import AsobibaError, game, make_agent

    wanted = _wanted(clients, players, fill)
    try:
        declared = game("werewolf")
        ruleset, table, receive = _kind_of_table(players, rules, language, first_talk)
        filler = fill or "basic"
        make_agent(declared, filler)
        results = Store(chosen_store(declared, store)) if store is not None else None
        given = None if seed is None else Secret.of_seed(seed)
        secret = results.secret(ruleset, given) if results else given or Secret.draw()
        server = socket.create_server((host, port))
    except (AsobibaError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    if log is not None:
        log.mkdir(parents=True, exist_ok=True)

    def done(number: int, hosted: Hosted) -> None:
        if log is not None:
            (log / f"{number:06d}.log").write_text("\n".join(hosted.log) + "\n", encoding="utf-8")
        if results is not None:
            results.write([hosted.record], secret)
        typer.echo(f"game {number + 1}: {hosted.log[-1]}")
        for seat, faults in hosted.faults.items():
            typer.echo(f"  {hosted.record.match.seats[seat]} (agent {seat + 1}): {in_short(faults)}")

    def play(peers: list[Any], count: int, begin: int, of: Secret = secret, done: Any = done) -> None:
        make = partial(make_agent, declared, filler)
        play_set(ruleset, peers, make, filler, count, of, done, table, begin)

    with server:
        typer.echo(f"Listening on {host}:{server.getsockname()[1]}")
        typer.echo(secret.announced)
        # Clients stay for the whole set; in natural language they come anew for each game.
        sets = [(games, 0)] if language is None else [(1, number) for number in range(games)]
        enter = partial(receive, server, wanted, reply, typer.echo, token)
        warm_up = partial(play, [], 1, 0, Secret.of_seed(0), lambda number, hosted: None)
        for peers, count, begin in _clients_of(server, enter, warm_up, sets, wait):
            if len(peers) < wanted:
                _tell_missing(peers, wanted, wait, fill)
            play(peers, count, begin)
    typer.echo(secret.told)
    if results is not None:
        results.publish_secrets(ruleset)


@app.command()
def join(
    agent: _AGENT = "basic",
    host: Annotated[str, typer.Option(help="The server's address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The server's port.")] = 10000,
    name: Annotated[str, typer.Option(help="What to call ourselves.")] = "asobiba",
    role: Annotated[str, typer.Option(help="The role to ask for, or none.")] = "none",
    games: Annotated[int | None, typer.Option("-n", "--games", min=1, help="Leave after so many games.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the agent.")] = 0,
    url: Annotated[
        str | None,
        typer.Option(
            help="A server in natural language, ws://HOST:PORT/ws; a connection a game, one game if -n is left out."
        ),
    ] = None,
    language: Annotated[str, typer.Option(help="What we speak there: ja or en.", metavar="ja|en")] = "ja",
    token: Annotated[str, typer.Option(envvar="ASOBIBA_TOKEN", help="That such a server wants, if any.")] = "",
) -> None:
    """Play one of our agents on an AIWolf server."""
    from asobiba.baselines.werewolf import joining, nlp
    from asobiba.core import AsobibaError, game, make_agent

    def told(number: int) -> None:
        typer.echo(f"game {number} is over")

    try:
        player = make_agent(game("werewolf"), agent)
        if url is not None:
            played = nlp.join(url, player, name, language, games or 1, seed, token, told)
        else:
            played = joining.join(host, port, player, name, role, games, seed, told)
    except AsobibaError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{played} games played")
