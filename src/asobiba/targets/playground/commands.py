"""`asobiba playground`. It imports its dependencies when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def playground(
    games: Annotated[
        list[str] | None,
        typer.Argument(metavar="GAME...", help="Games; all that can be drawn if none is named.", show_default=False),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the site.")] = Path("playground"),
) -> None:
    """Writes a static site on which games are played against their compiled agents, without a server.

    Any file server shows it, from any folder: python -m http.server -d playground
    """
    from rich.console import Console

    from asobiba.targets.playground.build import write_site

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    sizes = write_site(output, games or None, lambda text: console.print(f"[dim]compiling {text}[/dim]"))
    for name, size in sizes.items():
        print(f"{name}: {size / 1000:.0f} kB before the first move")
