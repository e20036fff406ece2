"""Sources of courses: shipped ones by name, files, mappings, and random ones by their seed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.course import Course, build_course
from asobiba.envs.mini4wd.fields import read_yaml
from asobiba.envs.mini4wd.generate import random_course


def load_course(source: str | Path | Mapping[str, Any] | Course) -> Course:
    """Reads and checks a course.

    Args:
        source: the name of a shipped course, `random:SEED` (see `asobiba.envs.mini4wd.generate`), the path of a YAML
            file, or its contents.

    Raises:
        GameParameterError: naming the segment and the reason, for a part that does not exist, a measure outside its
            range, or a course that does not close.
    """
    if isinstance(source, Course):
        return source
    if isinstance(source, (str, Path)):
        return _load_by_name(str(source))
    data, where = read_yaml(source, "courses", "course")
    return build_course(data, where)


@cache
def _load_by_name(text: str) -> Course:
    if text.startswith("random:"):
        number = text.removeprefix("random:")
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise GameParameterError(f"course {text!r}: a random course is called random:SEED with a whole number")
        return random_course(int(number))
    data, where = read_yaml(text, "courses", "course")
    return build_course(data, where)
