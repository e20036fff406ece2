"""`asobiba train GAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from asobiba.core import registry
from asobiba.core.errors import MissingExtra


def train(
    game: Annotated[str, typer.Argument(help="The game, as `asobiba games` lists it.")],
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file with changed hyperparameters.", exists=True)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Run folder.  [default: runs/train/GAME-SEED]")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Decisions of the learner.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Of network, games and opponents.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on with the run that the folder holds.")] = True,
) -> None:
    """Trains a policy with MaskablePPO (PPO where actions are continuous) and evaluates it from every seat.

    The run folder holds policy.zip, config.yml, run.json, curve.csv and its picture, and TensorBoard's files
    (tensorboard --logdir FOLDER). A run that was stopped goes on from its last checkpoint when the command is given again.

    The policy joins the league as the agent sb3:FOLDER/policy.zip.
    """
    try:
        from asobiba.learn import training
    except ImportError as error:
        raise MissingExtra("stable-baselines3 with sb3-contrib", "sb3") from error
    from asobiba.learn.config import load_config

    declared = registry.game(game)
    settings = load_config(declared, config, total_steps=steps, seed=seed)
    folder = output or Path("runs") / "train" / f"{declared.name}-{settings['seed']}"
    console = Console()
    console.print(f"Training {declared.title} for {settings['total_steps']:,} steps in {folder}")
    results = training.train(
        declared,
        settings,
        folder,
        resume=resume,
        progress=console.is_terminal,
        command=training.command_line(),
    )
    table = Table(title=f"{declared.title}: sb3:{folder / training.POLICY}")
    for column in ("opponent", "seat", "games", "score", "95 % interval", "mean return"):
        table.add_column(column, justify="left" if column in ("opponent", "seat") else "right")
    for r in results:
        table.add_row(
            r.opponent,
            r.seat,
            str(r.games),
            f"{r.score:.3f}",
            f"{r.low:.3f} to {r.high:.3f}",
            f"{r.mean_return:.3f} ± {r.return_half_width:.3f}",
        )
    console.print(table)
    console.print(f"It joins the league as the agent  sb3:{folder / training.POLICY}")
