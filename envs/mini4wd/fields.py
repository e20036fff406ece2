"""Checked reading of data files: every value has a field with a unit and a legal range."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from asobiba.core import GameParameterError
from asobiba.core.yaml_text import read_yaml as yaml_value


@dataclass(frozen=True)
class Field:
    """A number in a data file.

    Args:
        name: as in the file.
        unit: SI unless it says otherwise; empty for a pure number.
        low, high: the legal range, both ends included.
        default: the value if the file has none; `None` makes the field mandatory.
        meaning: one line for the documentation.
        integer: whether only whole numbers are legal.
    """

    name: str
    unit: str
    low: float
    high: float
    default: float | None
    meaning: str
    integer: bool = False

    @property
    def legal(self) -> str:
        """The legal range in words."""
        kind = "a whole number" if self.integer else "a number"
        return f"{kind} from {self.low:g} to {self.high:g}{' ' + self.unit if self.unit else ''}"

    def check(self, value: Any, where: str) -> float:
        """The value as a number.

        Raises:
            GameParameterError: if it is no number or lies outside the legal range.
        """
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if number is None or not math.isfinite(number) or not self.low <= number <= self.high:
            raise GameParameterError(f"{where}: {self.name} is {value!r}, but must be {self.legal}")
        if self.integer and number != int(number):
            raise GameParameterError(f"{where}: {self.name} is {value!r}, but must be {self.legal}")
        return float(number)


def require_mapping(value: Any, where: str) -> Mapping[str, Any]:
    """`value` if it is a mapping of text to values. Raises `GameParameterError` otherwise."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise GameParameterError(f"{where} must be a mapping of names to values, not {value!r}")
    return value


def require_known(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Raises `GameParameterError` for a key that is not among `known`, with the nearest one."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise GameParameterError(f"{where}: there is no field {name!r}.{hint} Fields: {', '.join(known)}.")


def read_fields(given: Mapping[str, Any], fields: Sequence[Field], where: str) -> dict[str, float]:
    """The numbers of a mapping, checked, with defaults for those that are missing.

    Raises:
        GameParameterError: naming the field, the value and the legal range.
    """
    require_known(given, [f.name for f in fields], where)
    found = {}
    for field in fields:
        if field.name in given:
            found[field.name] = field.check(given[field.name], where)
        elif field.default is None:
            raise GameParameterError(f"{where}: {field.name} is missing; it must be {field.legal}")
        else:
            found[field.name] = float(field.default)
    return found


def choice(value: Any, known: Sequence[str], field: str, where: str) -> str:
    """`value` if it is among `known`. Raises `GameParameterError` with the nearest one otherwise."""
    if value not in known:
        close = difflib.get_close_matches(str(value), known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise GameParameterError(f"{where}: {field} is {value!r}, but must be one of {', '.join(known)}.{hint}")
    return str(value)


def shipped(folder: str) -> tuple[str, ...]:
    """Names of the data files that this package ships in a folder."""
    root = files("asobiba.envs.mini4wd") / folder
    return tuple(sorted(f.name.removesuffix(".yaml") for f in root.iterdir() if f.name.endswith(".yaml")))


def read_yaml(source: str | Path | Mapping[str, Any], folder: str, what: str) -> tuple[Mapping[str, Any], str]:
    """The mapping of a data file, and its name in messages.

    Args:
        source: the name of a file that this package ships, the path of one's own, or a mapping.
        folder: the folder of the shipped ones.
        what: "course" or "car".

    Raises:
        GameParameterError: if there is no such file, or it is no YAML mapping.
    """
    if isinstance(source, Mapping):
        return require_mapping(source, what), f"{what} {source.get('name', '(unnamed)')}"
    text = str(source)
    if text in shipped(folder):
        content = (files("asobiba.envs.mini4wd") / folder / f"{text}.yaml").read_text(encoding="utf-8")
    else:
        path = Path(text)
        try:
            known = path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            known = False
        if not known:
            close = difflib.get_close_matches(text, shipped(folder), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise GameParameterError(
                f"there is no {what} {text!r}: give the path of a YAML file, or one of {', '.join(shipped(folder))}.{hint}"
            )
        content = path.read_text(encoding="utf-8")
    where = f"{what} {text}"
    try:
        data = yaml_value(content)
    except yaml.YAMLError as error:
        raise GameParameterError(f"{where} is no YAML: {error}") from None
    return require_mapping(data, where), where
