"""Cars: read from YAML, checked, and turned into the vectors that the kernels read.

The constants in capitals are the places of the values in those vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.fields import Field, choice, read_fields, read_yaml
from asobiba.envs.mini4wd.profile import SENSOR_NAMES

MOTOR_FIELDS = (
    Field("torque_constant", "N m/A", 1e-4, 1e-2, None, "torque per ampere, and back-EMF per rad/s"),
    Field("resistance", "ohm", 0.01, 10, None, "winding and brushes"),
    Field("no_load_current", "A", 0, 5, None, "current of the free motor: its friction"),
)
BATTERY_FIELDS = (
    Field("voltage", "V", 0.5, 4.0, None, "two AA cells, open circuit"),
    Field("battery_resistance", "ohm", 0, 5, None, "both cells"),
    Field("voltage_drop", "V/C", 0, 0.01, None, "fall of the open-circuit voltage per coulomb drawn"),
)
BODY_FIELDS = (
    Field("mass", "kg", 0.09, 0.5, None, "with batteries and electronics; the rules of Tamiya ask for 90 g"),
    Field("tyre_diameter", "m", 0.022, 0.035, 0.026, "legal: 22-35 mm"),
    Field("gear_ratio", "", 3.5, 5.0, 4.0, "motor turns per wheel turn: 3.5, 3.7, 4, 4.2, 5"),
    Field("gear_efficiency", "", 0.3, 1.0, 0.8, "of the gear train"),
    Field("rotor_inertia", "kg m2", 1e-8, 1e-5, 1.5e-7, "of the motor"),
    Field("wheel_inertia", "kg m2", 1e-8, 1e-5, 2.8e-6, "of all four wheels"),
    Field("tyre_friction", "", 0.05, 2.0, 0.51, "static and sliding friction of the tyres"),
    Field("rolling_resistance", "", 0, 0.3, 0.02, "force over weight"),
    Field("speed_drag", "kg/s", 0, 0.2, 0.0, "force per m/s"),
    Field("roller_drag", "", 0, 0.6, 0.235, "force over lateral load in curves"),
    Field("entry_loss", "", 0, 1.0, 1.0, "share of the impact on the wall at the entry of a curve that is felt"),
    Field("restitution", "", 0, 0.9, 0.22, "of impacts on wall and road"),
    Field("width", "m", 0.08, 0.105, 0.105, "over the rollers; legal: up to 105 mm"),
    Field("tread", "m", 0.05, 0.08, 0.064, "between the wheels of an axle"),
    Field("wheelbase", "m", 0.06, 0.12, 0.08, "between the axles"),
    Field("cg_rear", "m", 0.01, 0.1, 0.042, "from the rear axle to the centre of gravity"),
    Field("cg_height", "m", 0.005, 0.05, 0.018, "of the centre of gravity above the road"),
    Field("roller_offset", "m", -0.02, 0.03, 0.0055, "how far the rollers lie below the centre of gravity"),
    Field(
        "fence_clearance", "m", 0.005, 0.1, 0.033, "how high the wheels must rise for the rollers to clear the fence"
    ),
    Field("pitch_inertia", "kg m2", 1e-5, 1e-2, 2.0e-4, "about the lateral axis"),
    Field("roll_inertia", "kg m2", 1e-5, 1e-2, 2.2e-4, "about the outer wheels' line of contact"),
    Field("brake_friction", "", 0, 1.0, 0.0, "of brake pads: 0.3 plastic, 0.5 sponge, 0 none"),
    Field("landing_pitch", "degrees", 5, 90, 30, "greatest angle to the road at a landing that holds"),
    Field("landing_drag", "", 0, 2, 0.3, "speed lost at a landing over the speed into the road"),
    Field("wiring_resistance", "ohm", 0, 2, 0.0, "contacts of the battery, switch, fuse and leads, up to the bridge"),
)
CAR_FIELDS = (*BODY_FIELDS, *MOTOR_FIELDS, *BATTERY_FIELDS)
CAR_NAMES = tuple(f.name for f in CAR_FIELDS)
(
    MASS, TYRE, GEAR, EFFICIENCY, ROTOR, WHEELS, GRIP, ROLLING, SPEED_DRAG, ROLLER_DRAG, ENTRY_LOSS, RESTITUTION,
    WIDTH, TREAD, WHEELBASE, CG_REAR, CG_HEIGHT, ROLLER_OFFSET, FENCE, PITCH_INERTIA, ROLL_INERTIA, BRAKE,
    LANDING_PITCH, LANDING_DRAG, WIRING_R, MOTOR_K, MOTOR_R, MOTOR_I0, VOLTAGE, BATTERY_R, VOLTAGE_DROP,
) = range(len(CAR_FIELDS))  # fmt: skip

RANDOM_NAMES = (*CAR_NAMES, *SENSOR_NAMES)
"""Parameters that domain randomisation may vary."""


@cache
def _parts(name: str) -> dict[str, Any]:
    return yaml.safe_load((files("asobiba.envs.mini4wd") / "parts" / f"{name}.yaml").read_text(encoding="utf-8"))


def motors() -> dict[str, dict[str, float]]:
    """The shipped motors: name -> `MOTOR_FIELDS`."""
    return {name: read_fields(values, MOTOR_FIELDS, f"motor {name}") for name, values in _parts("motors").items()}


def batteries() -> dict[str, dict[str, float]]:
    """The shipped batteries: name -> `BATTERY_FIELDS`."""
    return {
        name: read_fields(values, BATTERY_FIELDS, f"battery {name}") for name, values in _parts("batteries").items()
    }


@dataclass(frozen=True)
class Car:
    """A car: `values` has every field of `CAR_FIELDS`, SI units (angles in degrees where the field says so)."""

    name: str
    title: str
    values: Mapping[str, float]

    @property
    def vector(self) -> np.ndarray:
        """The values in the order of `CAR_FIELDS`, `(len(CAR_FIELDS),)` float64."""
        return np.array([self.values[name] for name in CAR_NAMES])

    def with_values(self, **values: float) -> Car:
        """The same car with other values. Raises `GameParameterError` for those outside their range."""
        return Car(self.name, self.title, read_fields({**self.values, **values}, CAR_FIELDS, f"car {self.name}"))

    def with_motor(self, motor: str) -> Car:
        """The same car with another of the shipped motors."""
        return self.with_values(**motors()[choice(motor, tuple(motors()), "motor", f"car {self.name}")])

    def as_data(self) -> dict[str, Any]:
        """Content of a YAML file of this car."""
        body = {f.name: self.values[f.name] for f in BODY_FIELDS}
        motor = {f.name: self.values[f.name] for f in MOTOR_FIELDS}
        battery = {f.name: self.values[f.name] for f in BATTERY_FIELDS}
        return {"name": self.name, "title": self.title, **body, "motor": motor, "battery": battery}


def load_car(source: str | Path | Mapping[str, Any] | Car) -> Car:
    """Reads and checks a car.

    Args:
        source: the name of a shipped car, optionally with another motor (`stock+hyper_dash`), the path of a YAML file,
            or its contents. `motor` and `battery` are names of shipped ones or mappings, of which `base` may name a shipped one.

    Raises:
        GameParameterError: naming the field, the value and the legal range.
    """
    if isinstance(source, Car):
        return source
    if isinstance(source, (str, Path)):
        text = str(source)
        base, plus, motor = text.partition("+")
        if plus and not Path(text).exists():
            return load_car(base).with_motor(motor)
    data, where = read_yaml(source, "cars", "car")
    data = dict(data)
    name, title = str(data.pop("name", "car")), str(data.pop("title", data.get("name", "car")))
    data.pop("source", None)
    values: dict[str, Any] = {}
    for part, known, fields in (("motor", motors(), MOTOR_FIELDS), ("battery", batteries(), BATTERY_FIELDS)):
        if part not in data:
            raise GameParameterError(f"{where}: {part} is missing; it must be one of {', '.join(known)} or a mapping")
        given = data.pop(part)
        if isinstance(given, Mapping):
            own = dict(given)
            shipped = known[choice(own.pop("base"), tuple(known), part, where)] if "base" in own else {}
            values |= read_fields({**shipped, **own}, fields, f"{where}, {part}")
        else:
            values |= known[choice(given, tuple(known), part, where)]
    body = read_fields(data, BODY_FIELDS, where)
    if body["cg_rear"] >= body["wheelbase"]:
        raise GameParameterError(
            f"{where}: cg_rear is {body['cg_rear']:g}, but must be less than the wheelbase, {body['wheelbase']:g} m"
        )
    return Car(name, title, {**body, **values})


def randomisation(source: str | Path | Mapping[str, Any]) -> np.ndarray:
    """Ranges of domain randomisation as factors of the nominal values: `(len(RANDOM_NAMES), 2)` float64.

    Args:
        source: "none", the name of a shipped set of ranges, the path of a YAML file, or a mapping
            `name: [low, high]` with names from `RANDOM_NAMES`.

    Raises:
        GameParameterError: for an unknown name, or ends that are no factors or in the wrong order.
    """
    ranges = np.ones((len(RANDOM_NAMES), 2))
    sets = _parts("ranges")
    where = f"randomise {source}"
    if isinstance(source, str) and source in sets:
        data: Mapping[str, Any] = sets[source] or {}
    elif isinstance(source, str) and not Path(source).is_file():
        choice(source, tuple(sets), "randomise", "mini4wd")
        raise AssertionError
    else:
        data, where = read_yaml(source, "cars", "randomisation")
    for name, ends in data.items():
        place = RANDOM_NAMES.index(choice(name, RANDOM_NAMES, "name of a range", where))
        factor = Field(name, "times the nominal value", 0, 20, None, "")
        if not isinstance(ends, (list, tuple)) or len(ends) != 2:
            raise GameParameterError(f"{where}: {name} is {ends!r}, but must be a list [low, high] of factors")
        low, high = (factor.check(end, where) for end in ends)
        if low > high:
            raise GameParameterError(f"{where}: {name} is {list(ends)!r}, but its low end must not exceed its high end")
        ranges[place] = low, high
    return ranges
