"""`asobiba tune GAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tune(
    game: Annotated[str, typer.Argument(help="The game, as `asobiba games` lists it.")],
    trials: Annotated[int, typer.Option("--trials", "-n", min=1, help="In all, those of earlier calls included.")] = 30,
    steps: Annotated[int | None, typer.Option(min=1, help="Decisions of each trial.")] = None,
    algorithm: Annotated[str | None, typer.Option("--algo", help="As in asobiba train.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A YAML file to begin with.", exists=True)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A hyperparameter that stays as it is.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of trials, networks, games and opponents.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the study.  [default: runs/tune/GAME-ALGORITHM]")
    ] = None,
) -> None:
    """Searches for hyperparameters with Optuna, and writes the best as YAML.

    The study is a SQLite file; the same command goes on with it.
    Example: asobiba tune animal_shogi --trials 20 --steps 100000
    """
    from asobiba.core import registry
    from asobiba.core.errors import MissingExtra

    try:
        from asobiba.learn.tuning import tune as search
    except ImportError as error:
        raise MissingExtra("stable-baselines3", "sb3") from error
    from asobiba.learn.config import read_settings

    declared = registry.game(game)
    given = {name: value for name, value in (("total_steps", steps), ("seed", seed)) if value is not None}
    changes = {**read_settings(settings or ()), **given}
    folder = output or Path("runs") / "tune" / f"{declared.name}-{algorithm or 'maskable_ppo'}"
    best = search(declared, folder, trials=trials, config=config, algorithm=algorithm, changes=changes)
    print(f"Written: {best}. Train with it: asobiba train {game} --config {best}")
