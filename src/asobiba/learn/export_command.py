"""`asobiba export POLICY FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    policy: Annotated[Path, typer.Argument(help="A run folder of asobiba train, or a policy: .safetensors or .zip.")],
    output: Annotated[Path, typer.Argument(help="The file to write: .safetensors, .zip (of SB3) or .onnx.")],
    trust: Annotated[
        list[str] | None,
        typer.Option("--trust", metavar="sb3", help="Read a .zip. It holds pickles: reading it runs whatever it says."),
    ] = None,
) -> None:
    """Writes a policy in another format: safetensors, SB3's .zip, or ONNX.

    Example: asobiba export runs/train/animal_shogi-0 policy.onnx
    """
    from rich.console import Console

    from asobiba.learn.export import export as write
    from asobiba.learn.policy_file import load_policy

    file = policy / "policy.safetensors" if policy.is_dir() else policy
    write(load_policy(file, trust="sb3" in (trust or ())), output)
    if output.suffix == ".zip":
        Console(stderr=True).print(
            "A .zip of SB3 holds pickles: who loads it runs whatever it says. Share .safetensors."
        )
    print(f"Written: {output}")
