"""True cars that nobody knows, for trying a calibration: other values, and a structure that the model lacks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.car import MOTOR_R, TYRE, Car, load_car
from asobiba.envs.mini4wd.fields import choice
from asobiba.envs.mini4wd.hardware.env import parse_axes
from asobiba.envs.mini4wd.hardware.stand import LiftableBody
from asobiba.envs.mini4wd.profile import Profile, load_profile

SETTINGS = Path(__file__).parent / "calibration.yml"
_CHUNK = 5
"""ms, after which heat and creep are brought up to date."""


def settings() -> dict[str, Any]:
    """The contents of `calibration.yml`."""
    return yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class HiddenCar:
    """A car whose values, electronics and structure differ from what its owner believes.

    Args:
        believed, electronics_believed: the names of the files that the owner has.
        car, profile: the true ones.
        heat: `coefficient` 1/K of the winding's resistance, `capacity` J/K, `loss` W/K.
        creep: share by which the tyre rolls shorter for each ampere.
    """

    believed: str
    electronics_believed: str
    car: Car
    profile: Profile
    heat: dict[str, float]
    creep: float

    def body(self, course: str, lane: int, seed: int) -> HiddenBody:
        """The car on the start of a course."""
        return HiddenBody(self, seed, parse_axes(self.profile.axes), course=course, lane=lane)

    def value(self, name: str) -> float:
        """A true value of car or electronics."""
        return self.car.values[name] if name in self.car.values else self.profile.values[name]


def hidden_car(name: str) -> HiddenCar:
    """A hidden car of `calibration.yml`.

    Raises:
        GameParameterError: for another name.
    """
    known = settings()["hidden"]
    about = known[choice(name, tuple(known), "hidden car", "hil calibrate")]
    believed, profile = load_car(about["car"]), load_profile(about["profile"])
    car = believed.with_values(**{field: believed.values[field] * factor for field, factor in about["factors"].items()})
    electronics = replace(profile, values={**profile.values, **about["electronics"]})
    return HiddenCar(about["car"], about["profile"], car, electronics, about["heat"], about["creep"])


class HiddenBody(LiftableBody):
    """The body of a hidden car: its winding warms up, and its tyres creep under load."""

    def __init__(self, hidden: HiddenCar, seed: int, axes: np.ndarray, **parameters: Any):
        self._hidden, self._warmth = hidden, 0.0
        super().__init__(seed, axes, car=hidden.car.as_data(), profile=hidden.profile, randomise="none", **parameters)

    def place(self, seed: int | None = None) -> None:
        self._warmth = 0.0
        super().place(seed)

    def _run(self, duties: np.ndarray, modes: np.ndarray) -> None:
        hidden, heat = self._hidden, self._hidden.heat
        state = self._states[0]
        for first in range(0, len(duties), _CHUNK):
            part = slice(first, first + _CHUNK)
            super()._run(duties[part], modes[part])
            current = float(state["current"][0])
            seconds = 0.001 * len(duties[part])
            warm = hidden.car.values["resistance"] * (1.0 + heat["coefficient"] * self._warmth)
            self._warmth += seconds * (current * current * warm - heat["loss"] * self._warmth) / heat["capacity"]
            state["car"][0, MOTOR_R] = hidden.car.values["resistance"] * (1.0 + heat["coefficient"] * self._warmth)
            # The wheel turns on by more than the car moves: as if it were smaller.
            state["car"][0, TYRE] = hidden.car.values["tyre_diameter"] * (1.0 - hidden.creep * max(current, 0.0))


def require_simulated(port: str, hidden: str) -> None:
    """Raises `GameParameterError` for a hidden car at a real port."""
    if hidden and port not in ("sim", "chip"):
        raise GameParameterError(f"--hidden {hidden} is a simulated car, but the port is {port!r}; use sim or chip")
