"""`asobiba train GAME`."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from asobiba.core import registry
from asobiba.core.errors import MissingExtra
from asobiba.core.targets import wait_without_spinning

if TYPE_CHECKING:
    from asobiba.arena.evaluation import Evaluation
    from asobiba.core import Game
    from asobiba.learn.actors import Cluster


PlayedBy = Annotated[
    str, typer.Option(help="Where gumbel_az plays against itself: local (threads of this process) or ray.")
]
Actors = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Actors of Ray.  [default: one per CPU of the cluster]")
]
Address = Annotated[str | None, typer.Option(help="Address of the Ray cluster.  [default: a local one]")]


def train(
    game: Annotated[str, typer.Argument(help="The game, as `asobiba games` lists it.")],
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file with changed hyperparameters.", exists=True)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Run folder.  [default: runs/train/GAME-SEED]")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algo",
            help="maskable_ppo (PPO where actions are continuous), ppo, recurrent_ppo, dqn, qrdqn; sac, tqc, crossq for "
            "continuous actions; gumbel_az: a network learns from its own search.  [default: maskable_ppo, or what "
            "the file says]",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Decisions of the learner; of gumbel_az, rounds of self-play.", min=1)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of network, games and opponents.")] = None,
    seeds: Annotated[
        int,
        typer.Option(min=1, help="So many runs from seeds one after another, side by side, with their common curve."),
    ] = 1,
    device: Annotated[
        str | None, typer.Option(help="Where the network lies: auto, cpu or cuda.  [default: cpu]")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A hyperparameter, such as learner.learning_rate=1e-4."),
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Also write to wandb, mlflow or trackio; TensorBoard's files are always written."
        ),
    ] = None,
    executor: PlayedBy = "local",
    jobs: Actors = None,
    ray_address: Address = None,
    resume: Annotated[bool, typer.Option(help="Go on with the run that the folder holds.")] = True,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Go on with a checkpoint that somebody else has written, and run files and programs among the opponents "
            "without containment.",
        ),
    ] = False,
) -> None:
    """Trains a policy with Stable-Baselines3's learners and evaluates it from every seat.

    The run folder holds policy.safetensors, config.yml, run.json, curve.csv and its picture, and TensorBoard's files
    (tensorboard --logdir FOLDER). A run that was stopped goes on from its last checkpoint when the command is given again.

    The policy joins the league as the agent sb3:FOLDER/policy.safetensors.

    Where a game has more to train, WHAT in its command train-WHAT, that is `asobiba train GAME-WHAT`.
    """
    wait_without_spinning()  # before PyTorch is loaded: beside other programs, threads that spin cost seven times the time
    try:
        import asobiba.learn.training  # noqa: F401
    except ImportError as error:
        raise MissingExtra("stable-baselines3 with sb3-contrib", "sb3") from error
    from asobiba.learn.config import ConfigError, algorithm_of, load_config, read_settings

    declared = registry.game(game)
    by_search = algorithm_of(algorithm, config) == "gumbel_az"
    if by_search and track:
        raise ConfigError("--track gets what the logger of Stable-Baselines3 writes; gumbel_az has none")
    if by_search and device not in (None, "cpu"):
        raise ConfigError(f"--device {device}: gumbel_az learns on the processor")
    cluster = _cluster(executor, jobs, ray_address, by_search, seeds)
    given: dict[str, Any] = {"rounds": steps} if by_search else {"total_steps": steps, "device": device}
    given["seed"] = seed
    changed = {**read_settings(settings or ()), **{name: value for name, value in given.items() if value is not None}}
    hyperparameters = load_config(declared, config, algorithm=algorithm, **changed)
    console = Console()
    folder = output or _folder(declared, hyperparameters)
    spent = f"{hyperparameters['rounds']:,} rounds" if by_search else f"{hyperparameters['total_steps']:,} steps"
    console.print(f"Training {declared.title}{' by search' if by_search else ''} for {spent} in {folder}")
    options: dict[str, Any] = {"resume": resume, "trust": trust, "track": track or ()}
    if seeds > 1:
        _train_seeds(declared, hyperparameters, folder, seeds, options)
    elif by_search:
        _train_by_search(declared, hyperparameters, folder, console, {**options, "cluster": cluster})
    else:
        _train_once(declared, hyperparameters, folder, console, options)


def _cluster(executor: str, jobs: int | None, address: str | None, by_search: bool, seeds: int) -> Cluster | None:
    from asobiba.arena.places import EXECUTORS
    from asobiba.learn.actors import Cluster
    from asobiba.learn.config import ConfigError

    if executor not in EXECUTORS:
        raise ConfigError(f"no executor is called {executor!r}; there are: {', '.join(EXECUTORS)}")
    if executor == "local":
        if jobs is not None or address is not None:
            raise ConfigError(
                "--jobs and --ray-address are of --executor ray; threads=N says how many threads play here"
            )
        return None
    if not by_search:
        raise ConfigError("--executor ray is of --algo gumbel_az; the other learners play on this machine")
    if seeds > 1:
        raise ConfigError("--executor ray trains one seed at a time: leave --seeds out, and give --seed")
    return Cluster(jobs, address)


def _train_once(game: Game, hyperparameters: dict, folder: Path, console: Console, settings: dict[str, Any]) -> None:
    from asobiba.learn import training
    from asobiba.protocols.sandbox import consent

    try:
        with consent(settings["trust"]):
            results = training.train(game, hyperparameters, folder, command=training.command_line(), **settings)
    except training.Interrupted:
        console.print("The same command goes on from there.")
        raise typer.Exit(130) from None
    console.print(_table(game, hyperparameters, folder / training.POLICY, results))
    console.print(f"It joins the league as the agent  sb3:{folder / training.POLICY}")


def _folder(game: Game, hyperparameters: dict) -> Path:
    learner = hyperparameters["algorithm"]
    label = game.name if learner == "maskable_ppo" else f"{game.name}-{learner}"
    return Path("runs") / "train" / f"{label}-{hyperparameters['seed']}"


def _train_seeds(game: Game, hyperparameters: dict, folder: Path, seeds: int, options: dict[str, Any]) -> None:
    from asobiba.learn.seeds import draw_seeds, train_seeds
    from asobiba.learn.training import command_line

    written = [train_seeds(game, hyperparameters, folder, seeds, command_line(), print, **options)]
    with contextlib.suppress(MissingExtra):
        written.append(draw_seeds(folder))
    print(f"Written: {', '.join(map(str, written))}")


def _train_by_search(
    game: Game, hyperparameters: dict, folder: Path, console: Console, options: dict[str, Any]
) -> None:
    from asobiba.learn import expert
    from asobiba.learn.reporting import Interrupted
    from asobiba.learn.training import command_line
    from asobiba.protocols.sandbox import consent

    try:
        with consent(options["trust"]):
            policy = expert.train(
                game,
                hyperparameters,
                folder,
                resume=options["resume"],
                command=command_line(),
                cluster=options["cluster"],
            )
    except Interrupted:
        console.print("The same command goes on from there.")
        raise typer.Exit(130) from None
    table = Table(title=f"{game.title}: {policy}")
    for column in ("opponent", "simulations", "games", "score", "95 % interval"):
        table.add_column(column, justify="left" if column == "opponent" else "right")
    for r in json.loads((folder / "run.json").read_text(encoding="utf-8"))["evaluation"]:
        simulations = str(r["simulations"]) if r["simulations"] else "the network alone"
        table.add_row(
            r["opponent"], simulations, str(r["games"]), f"{r['score']:.3f}", f"{r['low']:.3f} to {r['high']:.3f}"
        )
    console.print(table)
    console.print(f"It joins the league as the agent  net_uct:policy={policy},simulations=64")


def _table(game: Game, hyperparameters: dict, policy: Path, results: list[Evaluation]) -> Table:
    """The last evaluation; in games of one player the returns, with the best classical agent's beside them."""
    from asobiba.learn.evaluation import best_classical

    ruleset = game.ruleset(**hyperparameters["parameters"])
    plies = results[0].opening_plies
    opened = f", openings of {plies} random plies" if plies else ""
    table = Table(title=f"{game.title}: sb3:{policy}{opened}")
    if ruleset.num_players == 1:
        for column in ("agent", "games", "mean return"):
            table.add_column(column, justify="left" if column == "agent" else "right")
        games = max(10, hyperparameters["evaluation"]["games"] // 50)
        name, best = best_classical(ruleset, games, hyperparameters["seed"])
        for agent, r in (("the trained policy", results[0]), (f"{name}, the best classical agent", best)):
            table.add_row(agent, str(r.games), f"{r.mean_return:.3f} ± {r.return_half_width:.3f}")
        return table
    for column in ("opponent", "seat", "games", "different", "score", "95 % interval", "mean return"):
        table.add_column(column, justify="left" if column in ("opponent", "seat") else "right")
    for r in results:
        for seat in r.seats:
            interval = f"{seat.low:.3f} to {seat.high:.3f}"
            table.add_row(
                r.opponent, seat.seat, str(seat.games), "", f"{seat.score:.3f}", interval, f"{seat.mean_return:.3f}"
            )
        interval = f"{r.low:.3f} to {r.high:.3f}"
        returns = f"{r.mean_return:.3f} ± {r.return_half_width:.3f}"
        table.add_row(r.opponent, "all", str(r.games), str(r.distinct), f"{r.score:.3f}", interval, returns)
    return table
