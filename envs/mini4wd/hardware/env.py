"""`asobiba/Mini4WDHardware-v1`: a real mini 4WD with the spaces and the step semantics of `asobiba/Mini4WD-v4`."""

from __future__ import annotations

import hashlib
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from asobiba.core import AsobibaError, GameParameterError, IllegalAction
from asobiba.core.states import as_action
from asobiba.envs.mini4wd.car import TYRE
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.hardware.codec import STOP, Codec, Drive, DriveMode, Telemetry, make_codec
from asobiba.envs.mini4wd.hardware.limits import Governor, Limits
from asobiba.envs.mini4wd.hardware.link import Link
from asobiba.envs.mini4wd.hardware.monitor import RunMonitor
from asobiba.envs.mini4wd.hardware.program import PROFILE_OF_CODEC
from asobiba.envs.mini4wd.hardware.runlog import LoggingTransport, ReplayOver, ReplayTransport, RunLog, read_log
from asobiba.envs.mini4wd.hardware.transport import Clock, LinkError, SerialTransport, Transport
from asobiba.envs.mini4wd.profile import load_profile

PLACE = "Put the car on the start, switched on, and let go of it."


class CarNotReady(AsobibaError, RuntimeError):
    """The car does not lie still, or not on its wheels."""


def ask_on_terminal(message: str) -> None:
    """Asks a person on the terminal and waits for Enter."""
    if not sys.stdin.isatty():
        raise CarNotReady(
            f"nobody is at the terminal to be asked: {message} Pass place=a function that asks elsewhere."
        )
    input(f"{message} Then press Enter. ")


def parse_axes(text: str) -> np.ndarray:
    """The matrix that turns the sensor's axes into the car's (ahead, left, up), from text such as `+x-y-z`.

    Raises:
        GameParameterError: unless it names each axis once, with signs that keep it right-handed.
    """
    matrix = np.zeros((3, 3))
    good = len(text) == 6 and sorted(text[1::2]) == ["x", "y", "z"] and set(text[::2]) <= {"+", "-"}
    if good:
        for row in range(3):
            matrix[row, "xyz".index(text[2 * row + 1])] = 1.0 if text[2 * row] == "+" else -1.0
        good = np.linalg.det(matrix) > 0
    if not good:
        raise GameParameterError(
            f"axes is {text!r}; it must name the sensor's axes that point ahead, left and up with their signs, "
            "right-handed, such as '+x+y+z' or '+x-y-z'"
        )
    return matrix


class HardwareEnv(gymnasium.Env):
    """A car in the loop. Spaces, actions, rewards and their names are those of `asobiba/Mini4WD-v4`.

    An action takes effect at the start of its step; the step ends one control period later, on a fixed grid of the
    monotonic clock, with the newest frame that has come. A step that begins more than a period late is a missed
    deadline and starts a new grid. `reset` asks a person to put the car on the start, waits until it lies still, and
    takes the gyro's rest as its zero. Progress, finish and course-out are judged from the car's own sensors (see
    `monitor`), so they are estimates.

    The car is braked at the end of an episode, on an exception or interrupt inside a step, on `close`, and when the
    process ends; when the process is killed, the car's own watchdog brakes it 200 ms later.

    `info` has: `stale_ms` (age of the newest frame), `deadline_missed`, `deadline_misses`, `jitter_ms` (how late the
    step ended), `lag_ms` (how late it began), `round_trip_ms` (`None` where the car does not confirm), `frames` (new in
    this step), `lost`, `doubled`, `reordered`, `late` and `bad_frames` (so far), `applied` (what the car was told: mode
    and duty), `car_braked` (by its own watchdog), `progress` in m, the `reward_*` terms, and at the end `cause`,
    `end_reason`, and `failed`: whether the car or its link failed (lost, sensor silent, battery low).

    Args:
        backend: path, name or pyserial URL of a serial port; "sim" for the simulator in real time; "replay" for a
            recorded log; or a `Transport`.
        codec: "asobiba" (`firmware/mini4wd`) or "aichip" (RT-AICHIP); by default that of the profile.
        baudrate: of the serial port, bit/s; by default the profile's.
        axes: which of the sensor's axes point ahead, left and up, such as "+x-y-z"; by default as in the profile.
        max_duty, reverse_pulse, link_timeout, max_run_time, min_battery: see `Limits`. The reverse pulse is by default the
            profile's, the link's timeout five of its telemetry periods, 0.2 s at least.
        log: path of the log to write, or `None`.
        recording: path of the log to replay.
        place: a function that asks a person to do what its argument says and returns when it is done; by default it
            asks on the terminal.
        stop_key: a function that says whether the human stop key has been pressed (see `keys.Keys`).
        settle: longest time that `reset` waits for stillness, s.
        clock: of the backend "sim"; real time by default.
        parameters: of `asobiba/Mini4WD-v4`. `profile` describes the car: its periods, its tachometer, its limits; by
            default that of the shipped car with this codec.

    Raises:
        GameParameterError: for values outside their range.
        LinkError: in `reset`, if no car answers.
        CarNotReady: in `reset`, if the car does not lie still on its wheels.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own declaration
    STILL_TIME = 1.0
    STILL_ACCELERATION, STILL_RATE = 0.02, 2.0
    """Greatest standard deviation of a still car's sensors, g and degrees per second."""

    def __init__(
        self,
        backend: str | Transport = "sim",
        codec: str | None = None,
        baudrate: int | None = None,
        axes: str | None = None,
        max_duty: float = 1.0,
        reverse_pulse: float | None = None,
        link_timeout: float | None = None,
        max_run_time: float = 60.0,
        min_battery: float = 0.0,
        log: str | None = None,
        recording: str | None = None,
        place: Callable[[str], None] | None = None,
        stop_key: Callable[[], bool] | None = None,
        settle: float = 20.0,
        clock: Clock | None = None,
        render_mode: str | None = None,
        **parameters: Any,
    ):
        from asobiba.envs.mini4wd import GAME

        if render_mode is not None:
            raise GameParameterError(f"render_mode is {render_mode!r}; a real car has none, watch it instead")
        settings: dict[str, Any] = {
            "codec": codec, "axes": axes, "max_duty": max_duty,
            "reverse_pulse": reverse_pulse, "link_timeout": link_timeout, "max_run_time": max_run_time,
            "min_battery": min_battery, "parameters": parameters,
        }  # fmt: skip
        self._recorded: list[dict[str, Any]] | None = None
        if backend == "replay":
            if recording is None:
                raise GameParameterError("backend is 'replay': pass recording=the path of a log")
            header, self._recorded = read_log(recording)
            settings = header["settings"]
            parameters = settings["parameters"]
        known = settings["codec"]
        if known is not None and known not in PROFILE_OF_CODEC:
            make_codec(known)  # says which codecs there are
        self.profile = load_profile(parameters.get("profile", PROFILE_OF_CODEC[known or "asobiba"]))
        settings["codec"] = known or self.profile.codec
        self._settings = settings
        self.codec: Codec = make_codec(settings["codec"])
        self.ruleset = GAME.ruleset(**{"profile": self.profile.name, **parameters})
        self.action_space = self.ruleset.action_space
        self.observation_space = self.ruleset.observation_space
        self._matrix = parse_axes(settings["axes"] or self.profile.axes)
        timeout, reverse = settings["link_timeout"], settings["reverse_pulse"]
        self.limits = Limits(
            settings["max_duty"], min(self.profile.values["reverse_limit"], 0.1) if reverse is None else reverse,
            timeout if timeout is not None else max(0.2, 5 * self.profile.sample_ms / 1000),
            settings["max_run_time"], settings["min_battery"],
        )  # fmt: skip
        self._settle = settle
        self._course = load_course(self.ruleset.parameters["course"])
        self._p = self.ruleset.params[0]
        self._period = float(self._p["control_step"])
        self._place = place
        if place is None and not isinstance(backend, Transport) and backend not in ("sim", "replay"):
            self._place = ask_on_terminal
        # Whether the log holds what came while the person was asked.
        settings.setdefault("asks", self._place is not None)
        self._body: Any = None
        transport = self._transport(backend, baudrate or self.profile.baud, stop_key, clock)
        self._log = RunLog(log, {"settings": settings, "started": time.time()}) if log else None
        if self._log is not None:
            transport = LoggingTransport(transport, self._log)
        session = None if self._log is None and self._recorded is None else 1 + len(self._settings["codec"])
        self.link = Link(self.codec, transport, self.limits.link_timeout, session)
        self._finalizer = weakref.finalize(self, _shut_down, self.link, self._log)
        self._over = True
        self._digests = iter([e["o"] for e in self._recorded or [] if "a" in e or "reset" in e])

    def _transport(
        self, backend: str | Transport, baudrate: int, stop_key: Callable[[], bool] | None, clock: Clock | None
    ) -> Transport:
        if isinstance(backend, Transport):
            return backend
        if backend == "replay":
            return ReplayTransport(self._recorded or [])
        if backend == "sim":
            from asobiba.envs.mini4wd.hardware.body import SimulatedBody
            from asobiba.envs.mini4wd.hardware.program import CarProgram, SimulatedTransport

            self._body = SimulatedBody(axes=self._matrix, **self.ruleset.parameters)
            program = CarProgram(make_codec(self.codec.name), self._body, self.profile)
            self._simulated = SimulatedTransport(program, clock, stop_key)
            return self._simulated
        return SerialTransport(backend, baudrate, stop_key)

    # -- beginning

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Brakes, asks for the car to be placed, waits until it lies still, and zeroes the gyro.

        `seed` draws the simulated car of the backend "sim"; a real one cannot be seeded.
        """
        super().reset(seed=seed)
        self._over = True
        try:
            self._connect()
            if self._body is not None:
                self._body.place(seed)
                self._simulated.reseed(int(self.np_random.integers(2**31)))
            elif self._settings["asks"]:
                if self._place is not None:
                    self._place(PLACE)
                self.link.receive(self.link.transport.now())
            self._rest()
        except BaseException:
            self.link.brake()
            raise
        self._frames: deque[tuple[float, Telemetry, np.ndarray, np.ndarray]] = deque(maxlen=self._window)
        for stamp, frame in self._rested[-self._window :]:
            self._frames.append((stamp, frame, *self._sensed(frame)))
        while len(self._frames) < self._window:
            self._frames.appendleft(self._frames[0])
        self._governor = Governor(self.limits)
        self._monitor = RunMonitor(
            self._course, float(self._p["car"][0, TYRE]),
            round(self.profile.values["pulses_per_turn"]) if self._tachometer else 0,
            self.profile.values["tachometer_filter"], float(self._p["stop_count"]),
        )  # fmt: skip
        self._actions = np.zeros((int(self.ruleset.layout.observation["actions"][0]), 2), np.float32)
        self._misses = 0
        self._progress = 0.0
        self._applied = STOP
        self._began = self._tick = self.link.transport.now()
        self._over = False
        observation = self._observe(self._tick)
        same = self._record({"reset": seed}, observation)
        info = self._info(self._tick, {})
        if same is not None:
            info["same_as_recorded"] = same
        return observation, info

    @property
    def _window(self) -> int:
        return int(self.ruleset.layout.observation["imu"][0])

    @property
    def _tachometer(self) -> bool:
        return "wheel_speed" in self.ruleset.layout.observation

    def _connect(self) -> None:
        self.link.open()

    def _rest(self) -> None:
        # Brake commands go on, so that the link is known to work when the run begins.
        transport = self.link.transport
        self._gyro_zero = np.zeros(3)
        begun = transport.now()
        kept: deque[tuple[float, Telemetry]] = deque()
        tick = begun
        why = "no frame has come"
        while True:
            tick += self._period
            self.link.send(STOP)
            kept.extend(self.link.receive(tick))
            now = transport.now()
            if cause := self.link.lost_cause(now):
                raise LinkError(cause)
            while kept and now - kept[0][0] > self.STILL_TIME:
                kept.popleft()
            if now - begun >= self.STILL_TIME and len(kept) >= 0.5 * self.STILL_TIME / (self.profile.sample_ms / 1000):
                acceleration = np.array([frame.acceleration for _, frame in kept])
                rate = np.array([frame.rate for _, frame in kept])
                if any(frame.sensor_fault for _, frame in kept):
                    why = "the car reports that its sensor does not answer"
                elif (spread := acceleration.std(axis=0).max()) > self.STILL_ACCELERATION:
                    why = f"its acceleration varies by {spread:.3f} g, still means below {self.STILL_ACCELERATION} g"
                elif (spread := rate.std(axis=0).max()) > self.STILL_RATE:
                    why = f"it turns by {spread:.1f} degrees/s, still means below {self.STILL_RATE}"
                else:
                    break
            if now - begun > self._settle:
                raise CarNotReady(f"the car does not come to rest within {self._settle} s: {why}")
        up = self._matrix @ acceleration.mean(axis=0)
        if up[2] < 0.7:
            raise CarNotReady(
                f"the car does not stand on its wheels: gravity reads {np.round(up, 2).tolist()} g ahead, left and up, "
                f"expected about [0, 0, 1]. If it does stand, axes is wrong."
            )
        self._gyro_zero = np.radians(self._matrix @ rate.mean(axis=0))
        self._rested = list(kept)

    def _sensed(self, frame: Telemetry) -> tuple[np.ndarray, np.ndarray]:
        acceleration = self._matrix @ np.array(frame.acceleration)
        return acceleration, np.radians(self._matrix @ np.array(frame.rate)) - self._gyro_zero

    # -- a step

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One control period with this action; see the class.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end of an episode.
            IllegalAction: for an action of another shape, or with a number that is not finite.
        """
        if self._over:
            raise ResetNeeded("the episode is over, or none has begun: call reset()")
        try:
            return self._step(action)
        except BaseException:
            self._stop()
            raise

    def _step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        values = np.asarray(as_action(self.ruleset, action), np.float32)
        if not np.all(np.isfinite(values)):
            raise IllegalAction(f"{values.tolist()} is not an action: every number must be finite")
        values = np.clip(values, -1.0, 1.0)
        duty, selector = float(values[0]), float(values[1]) if len(values) > 1 else 0.0
        transport = self.link.transport
        cause: str | None = None
        failed = False
        frames: list[tuple[float, Telemetry]] = []
        start = transport.now()
        lag = start - self._tick
        missed = lag >= self._period
        deadline = (start if missed else self._tick) + self._period
        end = start
        try:
            if transport.stop_pressed():
                cause = "the human stop key was pressed"
            else:
                self._applied = self._governor.allow(_drive(duty, selector), start, deadline - start)
                self.link.send(self._applied)
                frames = self.link.receive(deadline)
            end = transport.now()
        except ReplayOver as error:
            cause = str(error)
        missed = missed or end - deadline > self._period
        self._misses += missed
        self._tick = max(deadline, end - self._period)
        for stamp, frame in frames:
            entry = (stamp, frame, *self._sensed(frame))
            self._frames.append(entry)
            self._monitor.add(*entry[1:])
        self._actions[1:] = self._actions[:-1].copy()
        self._actions[0] = duty, selector
        terms, terminated = self._rewards(end)
        if not terminated and cause is None:
            cause = self._failure(end)
            failed = cause is not None
            cause = cause or self._time_over(end)
        truncated = cause is not None and not terminated
        observation = self._observe(end)
        info = self._info(end, terms)
        info |= {
            "deadline_missed": missed, "jitter_ms": (end - deadline) * 1e3, "lag_ms": lag * 1e3, "frames": len(frames)
        }  # fmt: skip
        if terminated or truncated:
            info["cause"] = self._monitor.out or "finished" if terminated else cause
            info["end_reason"] = "rules" if terminated else "truncation"
            info["failed"] = failed
            self._stop()
        same = self._record({"a": values.tolist()}, observation, info)
        if same is not None:
            info["same_as_recorded"] = same
        return observation, float(sum(terms.values())), terminated, truncated, info

    def _rewards(self, end: float) -> tuple[dict[str, float], bool]:
        p = self._p
        whole = float(p["laps"]) * float(p["lap_length"])
        gained = min(self._monitor.distance, whole) - self._progress
        self._progress += gained
        terms = {
            "reward_progress": float(p["progress_weight"]) * gained / whole, "reward_finish": 0.0, "reward_course_out": 0.0
        }  # fmt: skip
        if self._progress >= whole:
            terms["reward_finish"] = float(p["finish_weight"]) * float(p["par_time"]) / max(end - self._began, 1e-3)
            return terms, True
        if self._monitor.out is not None:
            terms["reward_course_out"] = -float(p["course_out_weight"])
            return terms, True
        return terms, False

    def _time_over(self, end: float) -> str | None:
        run_time = end - self._began
        if run_time >= self.limits.max_run_time:
            return f"the longest run time, {self.limits.max_run_time} s, is over"
        if run_time >= self._p["max_steps"] * self._period:
            return f"the longest episode, {self._p['max_steps']} steps, is over"
        return None

    def _failure(self, end: float) -> str | None:
        if cause := self.link.lost_cause(end):
            return cause
        newest = self._frames[-1][1]
        if newest.sensor_fault:
            return "the car's sensor does not answer"
        if newest.battery_low:
            return f"the car has braked for good: its battery was below {self.profile.values['battery_limit']} V for half a second"
        if newest.battery < self.limits.min_battery:
            return f"the motor battery is at {newest.battery:.2f} V, below {self.limits.min_battery} V"
        return None

    def _observe(self, end: float) -> np.ndarray:
        out = np.zeros(self.ruleset.observation_size, np.float32)
        parts = self.ruleset.channels(out)
        for row, (_, _, acceleration, rate) in enumerate(self._frames):
            parts["imu"][row, :3] = acceleration
            parts["imu"][row, 3:] = rate
        stamp, newest = self._frames[-1][:2]
        parts["voltage"][0] = newest.battery
        parts["duty"][0], parts["mode"][0] = self._actions[0]
        parts["time"][0] = end - self._began
        parts["frame_age"][0] = end - stamp + self.profile.values["latency"]
        parts["actions"][:] = self._actions
        if self._tachometer:
            parts["wheel_speed"][0] = self._monitor.wheel_speed
        layout = self.ruleset.layout
        return np.clip(out, layout.observation_low, layout.observation_high)

    def _info(self, end: float, terms: dict[str, float]) -> dict[str, Any]:
        counts, round_trip = self.link.counts, self.link.round_trip
        newest = self._frames[-1][1]
        return {
            "stale_ms": self.link.silence(end) * 1e3,
            "deadline_missed": False,
            "deadline_misses": self._misses,
            "round_trip_ms": None if round_trip is None else round_trip * 1e3,
            "lost": counts.lost,
            "doubled": counts.doubled,
            "reordered": counts.reordered,
            "late": counts.late,
            "bad_frames": self.codec.bad,
            "applied": (self._applied.mode.name.lower(), self._applied.duty),
            "car_braked": newest.link_timed_out,
            "progress": self._progress,
            **terms,
        }

    # -- the end

    def _stop(self) -> None:
        self._over = True
        self.link.brake()
        if self._log is not None:
            self._log.flush()

    def close(self) -> None:
        """Brakes the car, gives the port back and ends the log."""
        self._over = True
        self._finalizer()

    def _record(
        self, entry: dict[str, Any], observation: np.ndarray, info: dict[str, Any] | None = None
    ) -> bool | None:
        digest = hashlib.sha256(observation.tobytes()).hexdigest()[:32]
        if self._log is not None:
            self._log.add({**entry, "o": digest, **({"i": info} if info else {})})
        if self._recorded is None:
            return None
        return next(self._digests, None) == digest


def _drive(duty: float, selector: float) -> Drive:
    # As in the simulator: drive from 0, brake from -0.5, free below.
    if selector < 0:
        return Drive(DriveMode.BRAKE if selector >= -0.5 else DriveMode.FREE)
    return Drive(DriveMode.FORWARD if duty >= 0 else DriveMode.REVERSE, abs(duty))


def _shut_down(link: Link, log: RunLog | None) -> None:
    # Also run when the environment is forgotten and when the interpreter ends.
    link.close()
    if log is not None:
        log.close()
