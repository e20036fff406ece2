"""Mini 4WD: published figures beside ours, and cars of which they are not true."""

from __future__ import annotations

import numpy as np
import pytest

from asobiba.baselines.mini4wd import published
from asobiba.envs.mini4wd.car import load_car, motors

# Tamiya's package data: rpm and current at the recommended load, mN m, at 2.4-3.0 V.
PACKAGES = {
    "normal": ((9900, 13800), (0.8, 1.0), (1.1, 1.1)),
    "torque_tuned": ((12200, 14400), (1.6, 1.8), (1.7, 2.0)),
    "rev_tuned": ((13200, 14900), (1.2, 1.5), (1.5, 1.8)),
    "atomic_tuned": ((12300, 14500), (1.6, 1.8), (1.5, 1.7)),
    "light_dash": ((14600, 17800), (1.3, 1.9), (1.5, 2.2)),
    "hyper_dash": ((17200, 21200), (1.4, 1.9), (1.6, 3.0)),
    "mach_dash": ((20000, 24500), (1.3, 1.8), (2.6, 3.5)),
    "power_dash": ((19900, 23600), (1.5, 2.0), (2.5, 3.3)),
    "sprint_dash": ((20700, 27200), (1.3, 1.8), (2.8, 3.8)),
    "ultra_dash": ((24000, 27500), (1.4, 1.9), (4.0, 5.0)),
    "plasma_dash": ((25000, 28000), (1.4, 1.9), (4.1, 5.2)),
}


@pytest.mark.parametrize("name", motors())
def test_a_motor_turns_and_draws_what_its_package_says(name):
    rpm, torque, amperes = PACKAGES[name]
    motor = motors()[name]
    current = np.mean(torque) / 1000 / motor["torque_constant"] + motor["no_load_current"]
    speed = (2.7 - current * motor["resistance"]) / motor["torque_constant"] * 60 / (2 * np.pi)
    assert amperes[0] * 0.95 <= current <= amperes[1] * 1.07
    assert rpm[0] <= speed <= rpm[1]


def test_published_figures_lie_in_their_ranges():
    """Lap times, Hyper-Dash out at the lane changer, and all others that were published, but one."""
    found = list(published.figures())
    assert len(found) == 43
    # 0.988 g over 90 runs: the model lacks what shakes the car sideways in curves (published._LACKS).
    outside = [f.name for f in found if not f.agrees]
    assert outside == ["AI chip: its scatter"] == [f.name for f in found if f.lacks]


ROLLS_ON = {"rolling_resistance": 0.0, "roller_drag": 0.02, "no_load_current": 0.02, "torque_constant": 0.0026}
"""Next to no friction, and a motor too slow to leave the course."""
RUBS = {"no_load_current": 1.2}
GOVERNED = {"torque_constant": 0.0026, "resistance": 0.1, "battery_resistance": 0.01}
"""A motor that turns almost as fast under any load."""
SHAKEN = {"base": "atmega328p", "gyro_vibration": 60.0}
"""Electronics whose sensor shakes ten times as much."""


@pytest.mark.parametrize(
    ("row", "changes", "electronics"),
    [
        ("5 s on: mean speed", {"rotor_inertia": 1e-5}, "atmega328p"),
        ("5 s off: until it rolls", RUBS, "atmega328p"),
        ("5 s off: until it rolls", ROLLS_ON, "atmega328p"),
        ("5 s off: times that it stands", ROLLS_ON, "atmega328p"),
        ("2 ms on, 8 ms off", {"rolling_resistance": 0.0, "roller_drag": 0.0, "no_load_current": 0.02}, "atmega328p"),
        ("reversed over motor off", {"tyre_friction": 0.25}, "atmega328p"),
        ("on worn cells", RUBS, "atmega328p"),
        ("foot of a downhill", GOVERNED, "atmega328p"),
        ("nose up on a hill", {}, SHAKEN),
        ("filtered yaw rate", {}, SHAKEN),
    ],
)
def test_what_was_observed_is_not_seen_of_other_cars(row, changes, electronics):
    """The ranges of what authors saw their cars do leave out cars and sensors of which it is not true."""
    car = load_car("stock+torque_tuned").with_values(**changes)
    (figure,) = [f for f in published.observations(car, electronics) if row in f.name]
    assert not figure.agrees


def test_a_car_that_comes_nowhere_agrees_with_nothing_that_others_do_there():
    """With three times its resistance the car does not climb the hill: it is never seen in a corner."""
    car = load_car("stock+torque_tuned")
    weak = car.with_values(resistance=3 * car.values["resistance"])
    found = {f.name: f for f in published.observations(weak)}
    assert len(found) == 9
    for row in ("foot of a downhill", "nose up on a hill", "filtered yaw rate"):
        (figure,) = [f for name, f in found.items() if row in name]
        assert np.isnan(figure.ours)
        assert not figure.agrees
