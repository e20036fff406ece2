"""`asobiba hub push` and `asobiba hub pull`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Sends runs to the Hugging Face Hub and fetches them.", no_args_is_help=True)


@app.command("push")
def push(
    run: Annotated[Path, typer.Argument(help="A run folder of asobiba train.")],
    repository: Annotated[str, typer.Argument(help="OWNER/NAME on the hub; created if need be.")],
    private: Annotated[bool, typer.Option("--private", help="Only the owner sees a new repository.")] = False,
    message: Annotated[str, typer.Option("--message", "-m", help="Of the commit.")] = "",
) -> None:
    """Sends policy, model card, configuration, record and curves of a run.

    The token is that of `hf auth login`, or HF_TOKEN.
    """
    from asobiba.learn import hub

    print(f"Sent to {hub.push(run, repository, private=private, message=message)}")


@app.command("pull")
def pull(
    repository: Annotated[str, typer.Argument(help="OWNER/NAME on the hub.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new folder.  [default: runs/hub/OWNER-NAME]")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="A branch, tag or commit.")] = None,
) -> None:
    """Fetches a run. Files that may hold pickles are not fetched.

    Example: asobiba hub pull somebody/animal-shogi, then asobiba enjoy runs/hub/somebody-animal-shogi
    """
    from asobiba.learn import hub

    folder = hub.pull(repository, output or Path("runs") / "hub" / repository.replace("/", "-"), revision=revision)
    print(f"Written: {folder}")
