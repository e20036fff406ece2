"""The progress bar of long commands."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def _console() -> Console:
    """The standard error stream. `FORCE_COLOR`, which notebooks set, does not make a terminal of it: bars need one."""
    return Console(stderr=True, force_terminal=None if sys.stderr.isatty() else False)


def progress_bar(counted: bool = False) -> Progress:
    """A bar with the time spent and the time left, on the standard error stream; nothing where that is no terminal.

    Args:
        counted: whether steps are counted in words (`3/116`) or as a percentage.
    """
    console = _console()
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn() if counted else TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)


def training_bar() -> Progress:
    """A bar of one line of 80 columns: percentage, a description of 45 columns, and the time left."""
    console = _console()
    columns = (
        TextColumn("{task.percentage:3.0f} %"),
        BarColumn(bar_width=12),
        TextColumn("{task.description}"),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)
