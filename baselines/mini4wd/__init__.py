"""Controllers of the mini 4WD: those of the GAT 2016 papers, and two beyond them."""

from __future__ import annotations

from asobiba.baselines.mini4wd import policies
from asobiba.baselines.mini4wd.controllers import Controller, SensingController, by_level, require_range
from asobiba.baselines.mini4wd.learned import PPO
from asobiba.baselines.mini4wd.learning import Localiser, Playback
from asobiba.baselines.mini4wd.planner import PLAN_CEM
from asobiba.core import AgentDeclaration

_GAT = "GAT 2016 (Game AI Tournaments), abstracts of mini 4WD AI cars"


def constant(duty: float = 0.95) -> SensingController:
    """The same duty all the time."""
    return SensingController(policies.CONSTANT, [require_range("duty", duty, -1, 1)], "constant")


def sequence(duty: float = 1.0, on: float = 5.0, off: float = 5.0) -> SensingController:
    """On for `on` seconds, off for `off` seconds, and again: 5 and 5 in the paper's first test, 0.002 and 0.008 in its
    second (its transistor is on while nothing is put out). In the 5 s off the car comes to a stand, which ends a run
    unless its `stand_seconds` are more."""
    return SensingController(
        policies.SEQUENCE,
        [require_range("duty", duty, -1, 1), require_range("off", off, 0, 60), require_range("on", on, 0.0001, 60)],
        "sequence",
    )


def slope(
    duty: float = 0.85, slow: float = 0.65, tilt: float = 0.12, smooth: float = 0.15, hold: float = 0.5
) -> SensingController:
    """`duty`, and `slow` for `hold` seconds after the smoothed tilt has passed `tilt` rad."""
    settings = [
        require_range("duty", duty, -1, 1),
        require_range("slow", slow, -1, 1),
        require_range("tilt", tilt, -2, 2),
        require_range("smooth", smooth, 0.001, 10),
        require_range("hold", hold, 0, 60),
    ]
    return SensingController(policies.SLOPE, settings, "slope")


def playback(path: str | None = None, teacher: str = "shape", correct: bool = True) -> Playback:
    """Plays a recorded run; without `path`, `teacher` drives the teaching run."""
    return Playback(path, teacher, bool(correct))


def pseudo_speed(
    duty: float = 0.75, threshold: float = 2.4, pulse: float = 0.06, keep: float = 0.98
) -> SensingController:
    """Reverses for `pulse` seconds (at most 0.1) when the pseudo-speed passes `threshold` m/s.

    `keep` is the share of the pseudo-speed that is kept every 100 ms: with 1 a sensor mounted askew makes it drift away in the
    curves, with much less than 1 it follows the acceleration rather than the speed, and the car brakes as it pulls away.
    """
    settings = [
        require_range("duty", duty, -1, 1),
        require_range("threshold", threshold, 0, 50),
        require_range("pulse", pulse, 0, 0.1),
        require_range("keep", keep, 0, 1),
    ]
    return SensingController(policies.PSEUDO_SPEED, settings, "pseudo_speed")


def gyro_pitch(
    duty: float = 1.0, slow: float = 0.7, rate: float = 1.5, pulse: float = 0.06, hold: float = 0.5, pull: float = 0.6
) -> SensingController:
    """A pitch rate above `rate` rad/s: reverse for `pulse` s, then `slow` for `hold` s; `slow` above `pull` g too."""
    settings = [
        require_range("duty", duty, -1, 1),
        require_range("slow", slow, -1, 1),
        require_range("rate", rate, 0, 100),
        require_range("pulse", pulse, 0, 0.1),
        require_range("hold", hold, 0, 60),
        require_range("pull", pull, 0, 50),
    ]
    return SensingController(policies.GYRO_PITCH, settings, "gyro_pitch")


def shape(
    straight: float = 1.0,
    corner: float = 0.9,
    slope: float = 0.65,
    yaw: float = 2.0,
    tilt: float = 0.2,
    smooth: float = 0.06,
    rate: float = 2.0,
    hold: float = 0.5,
    brake: float = 0.08,
) -> SensingController:
    """A duty for straights, corners (yaw beyond `yaw` rad/s) and slopes, from filtered axes; brakes before slopes."""
    settings = [
        require_range("straight", straight, -1, 1),
        require_range("corner", corner, -1, 1),
        require_range("slope", slope, -1, 1),
        0.0,
        require_range("yaw", yaw, 0, 100),
        require_range("tilt", tilt, 0, 2),
        require_range("smooth", smooth, 0.001, 10),
        require_range("rate", rate, 0, 100),
        require_range("hold", hold, 0, 60),
        require_range("brake", brake, 0, 1),
    ]
    return SensingController(policies.SHAPE, settings, "shape")


def localise(rounds: int = 24, cars: int = 12, top: float = 7.0) -> Localiser:
    """Histogram self-localisation with a learned speed per cell; needs the tachometer."""
    return Localiser(
        int(require_range("rounds", rounds, 1, 1000)), int(require_range("cars", cars, 1, 1000)),
        require_range("top", top, 1, 15), 0.6, 0.3, 0.16,
    )  # fmt: skip


def predict(steps: int = 8, margin: float = 0.6, identified: bool = False, trust: float = 1.0) -> Controller:
    """Model-predictive control on the identified model. Uses the wheels' speed.

    `identified=True` is the upper reference of `asobiba mini4wd controllers`: there the model is the very car of each
    run, as if its identification were perfect. Elsewhere, and without it, the model is the nominal car, and `margin`
    makes up for the difference. `trust` is the share of what the tachometer says otherwise that is believed in a step.
    """
    settings = [
        require_range("steps", steps, 1, 40),
        require_range("margin", margin, 0, 0.9),
        1.0 if identified else 0.0,
        require_range("trust", trust, 0, 1),
    ]
    return Controller(policies.PREDICT, settings, "predict")


def stop(
    speed: float = 2.2, slow: float = 1.5, near: float = 1.5, deceleration: float = 3.0, late: float = 0.02
) -> Controller:
    """Drives at `speed`, at `slow` for the last `near` metres, and brakes where `deceleration` (m/s2) ends at the mark.

    `late` is the time, s, that a command takes to act beyond the step and the nominal delay. Knows the course and the nominal car, and the
    wheels' speed where the game's parameter `tachometer` is true.
    """
    settings = [
        require_range("speed", speed, 0.1, 10),
        require_range("slow", slow, 0.1, 10),
        require_range("near", near, 0, 100),
        require_range("deceleration", deceleration, 0.1, 50),
        require_range("late", late, 0, 1),
    ]
    return Controller(policies.STOP, settings, "stop")


CONTROLLERS = (
    AgentDeclaration("constant", constant, "constant duty", _GAT, deterministic=True),
    AgentDeclaration(
        "sequence", sequence, "on/off sequence, pulse-width modulation", f"{_GAT}: Kozu", deterministic=True
    ),
    AgentDeclaration("slope", slope, "slope detection by tilt, lower duty", f"{_GAT}: Satose", deterministic=True),
    AgentDeclaration(
        "playback", playback, "teach and playback, voltage correction", f"{_GAT}: Harada", deterministic=True
    ),
    AgentDeclaration(
        "pseudo_speed",
        pseudo_speed,
        "acceleration added up over 100 ms, reverse pulses",
        f"{_GAT}: Orihara",
        deterministic=True,
    ),
    AgentDeclaration(
        "gyro_pitch",
        gyro_pitch,
        "thresholds on acceleration and pitch rate, reverse",
        f"{_GAT}: Ghita",
        deterministic=True,
    ),
    AgentDeclaration(
        "shape", shape, "filtered six axes, duty by the course's shape", f"{_GAT}: Satomi", deterministic=True
    ),
    AgentDeclaration(
        "localise",
        localise,
        "histogram self-localisation, learned speed per cell",
        "ai_mini_4wd_kit (2019)",
        league=False,
    ),
    AgentDeclaration("predict", predict, "model-predictive control on the identified model", deterministic=True),
)
STOP = AgentDeclaration(
    "stop",
    stop,
    "pseudo-speed or odometry, set right in curves; brakes for the mark",
    f"{_GAT}: Orihara",
    deterministic=True,
)
AGENTS = {
    "mini4wd": (*CONTROLLERS, PLAN_CEM, PPO),
    "mini4wd_discrete": tuple(by_level(controller) for controller in CONTROLLERS),
    "mini4wd_race": (*CONTROLLERS, PLAN_CEM, PPO),
    "mini4wd_position": (*CONTROLLERS, STOP),
}
