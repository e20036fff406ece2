"""Places in an author's files: `file:line`, which editors and terminals turn into a link."""

from __future__ import annotations

import difflib
import inspect
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_OURS = Path(__file__).parent.parent


def function_of(kernel: Any) -> FunctionType | None:
    """The Python function of a kernel, compiled or not; `None` for anything else."""
    found = getattr(kernel, "py_func", kernel)
    return found if isinstance(found, FunctionType) else None


def place_of(thing: Any, line: int | None = None) -> str:
    """`file:line` of a function or a module."""
    if isinstance(thing, ModuleType):
        return f"{thing.__file__}:{line or 1}"
    code = thing.__code__
    return f"{code.co_filename}:{line or _line_of_def(thing)}"


def _line_of_def(function: FunctionType) -> int:
    # Python counts from the first decorator.
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        return function.__code__.co_firstlineno
    return first + next((k for k, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)


def own_frame(error: BaseException, home: Path | None = None) -> traceback.FrameSummary | None:
    """The innermost frame of an error in the author's files: in the folder `home`, or else in nobody else's package."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename)
        if home is not None and home in path.parents:
            return frame
        if home is None and path.exists() and _OURS not in path.parents and "site-packages" not in path.parts:
            if not path.is_relative_to(Path(inspect.__file__).parent):
                return frame
    return None


def told(error: BaseException, home: Path | None, doing: str) -> str:
    """An error in an author's code as one message: the file and line first, then the operation and the error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {error.msg}"
    frame = own_frame(error, home)
    where = f"{frame.filename}:{frame.lineno}: " if frame else ""
    line = f"\n    {frame.line}" if frame and frame.line else ""
    return f"{where}{doing}: {type(error).__name__}: {error}{line}"


def nearest(word: str, known: Iterable[str]) -> str:
    """`Did you mean 'x'?`, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
