"""`asobiba enjoy RUN_OR_POLICY`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def enjoy(
    policy: Annotated[Path, typer.Argument(help="A run folder of asobiba train, or its policy file.", exists=True)],
    against: Annotated[str, typer.Option("--against", "-a", help="The agent at all other seats.")] = "random",
    games: Annotated[int, typer.Option("--games", "-n", min=1, help="Games, from one seat after the other.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the first game; the others follow.")] = 0,
    game: Annotated[
        str | None, typer.Option(help="The game.  [default: what config.yml beside the policy says]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a .gif, .mp4 or .svg (last position) of the last game.")
    ] = None,
    trust: Annotated[list[str] | None, typer.Option("--trust", metavar="AGENT", help="As in asobiba match.")] = None,
) -> None:
    """Shows games of a trained policy, position by position, or films one.

    Example: asobiba enjoy runs/train/animal_shogi-0 --against one_ply
    """
    from asobiba.arena.match import Match
    from asobiba.arena.playing import play_match
    from asobiba.arena.show import headline, replay_text, save_film
    from asobiba.arena.trust import Trust, make_player
    from asobiba.learn.run_evaluation import POLICY, rules_of

    file = policy / POLICY if policy.is_dir() else policy
    ruleset = rules_of(file, game)
    name = f"sb3:{file}"
    players = [
        make_player(ruleset.game, text, Trust.of(trust)) for text in [name, *[against] * (ruleset.num_players - 1)]
    ]
    record: Any = None
    try:
        for k in range(games):
            seat = k % ruleset.num_players
            agents = [*players[1 : 1 + seat], players[0], *players[1 + seat :]]
            names = [name if agent is players[0] else against for agent in agents]
            record = play_match(Match.of(ruleset, names, seed + k), agents)
            print(replay_text(record) if output is None else headline(record))
    finally:
        for player in players:
            player.close()
    if output is not None:
        save_film(output, record)
        print(f"Written: {output}")
