"""`asobiba hil ...`: a real mini 4WD on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from asobiba.baselines.mini4wd import hil_calibrate
from asobiba.baselines.mini4wd.person import dead_man_of, placing, wait_for

app = typer.Typer(
    help="A real mini 4WD: check the link, drive, record runs, replay them, identify or calibrate the car.",
    no_args_is_help=True,
)
app.add_typer(hil_calibrate.app)

Port = Annotated[str, typer.Argument(help="Serial port (/dev/ttyUSB0, COM3, /dev/rfcomm0), pyserial URL, or 'sim'.")]
CodecName = Annotated[
    str | None, typer.Option(help="asobiba (firmware/mini4wd) or aichip (RT-AICHIP); by default the profile's.")
]
ProfileName = Annotated[
    str, typer.Option(help="The car's electronics; by default those of the shipped car with this codec.")
]
Held = Annotated[
    bool | None,
    typer.Option(
        "--dead-man/--no-dead-man",
        help="Drive only while the space bar is held down (by keyboard: any key). By default with every car but 'sim'.",
    ),
]
Placed = Annotated[bool, typer.Option(help="The car stands on the start already: ask nobody.")]
Baud = Annotated[int | None, typer.Option(help="Bits per second; by default the profile's.", min=1)]
Course = Annotated[str, typer.Option(help="The course, as the simulator names it or as a file.")]


def _profile(name: str) -> dict[str, Any]:
    return {"profile": name} if name else {}


def _fail(error: Exception) -> typer.Exit:
    typer.secho(str(error), fg="red", err=True)
    return typer.Exit(1)


@app.command()
def check(
    port: Port,
    codec: CodecName = None,
    baud: Baud = None,
    seconds: Annotated[float, typer.Option(help="How long to measure.", min=0.5, max=600)] = 5.0,
    period: Annotated[
        float | None, typer.Option(help="Control period, s; by default the profile's.", min=0.005, max=0.1)
    ] = None,
    profile: ProfileName = "",
) -> None:
    """Latency histogram, losses, jitter, and the sensor's noise and bias: put the car down, it stays braked."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.hardware.check import check_link, histogram
    from asobiba.envs.mini4wd.hardware.env import HardwareEnv

    console = Console()
    try:
        env = HardwareEnv(port, codec=codec, baudrate=baud, **_profile(profile))
        period = period or env.profile.control_ms / 1000
        try:
            env.link.open()
            report = check_link(env.link, seconds, period)
        finally:
            env.close()
    except (AsobibaError, ValueError) as error:
        raise _fail(error) from None
    hello = report.hello
    if hello is not None:
        console.print(
            f"car: protocol {hello.version}, sensor 0x{hello.sensor:02X}, a frame every {hello.telemetry_period * 1e3:.0f} ms, "
            f"brakes after {hello.link_timeout * 1e3:.0f} ms of silence, reverses for {hello.reverse_limit * 1e3:.0f} ms at most"
        )
    console.print(
        f"{report.frames} frames in {report.steps} steps of {period * 1e3:.0f} ms: lost {report.lost} "
        f"({report.loss_rate:.2%}), bad {report.bad}, bytes passed over {report.skipped}, doubled {report.doubled}, "
        f"reordered {report.reordered}, late {report.late}, commands not taken {report.send_failures}"
    )
    for title, values in (
        ("round trip, ms", report.round_trips),
        ("between two frames, ms", report.intervals),
        ("age of the newest frame at the end of a step, ms", report.ages),
        ("step ended late by, ms", report.overruns),
    ):
        rows = histogram(values)
        if not rows:
            console.print(f"{title}: nothing to measure with this codec")
            continue
        table = Table(title=f"{title} (median {_percentile(values, 50):.2f}, 99 % {_percentile(values, 99):.2f})")
        for name in ("from", "to", "count", ""):
            table.add_column(name, justify="left" if not name else "right")
        most = max(count for *_, count in rows) or 1
        for low, high, count in rows:
            table.add_row(f"{low:.2f}", f"{high:.2f}", str(count), "#" * round(30 * count / most))
        console.print(table)
    table = Table(title=f"at rest: motor battery {report.battery:.2f} V, sensor at {report.temperature:.0f} °C")
    for name in ("sensor axis", "acceleration, g", "noise, g", "gyro bias, degrees/s", "noise, degrees/s"):
        table.add_column(name, justify="right")
    for k, axis in enumerate("xyz"):
        table.add_row(
            axis, f"{report.acceleration_mean[k]:+.4f}", f"{report.acceleration_noise[k]:.4f}",
            f"{report.rate_mean[k]:+.3f}", f"{report.rate_noise[k]:.3f}",
        )  # fmt: skip
    console.print(table)


def _percentile(values: Any, percent: float) -> float:
    import numpy as np

    return float(np.percentile(values, percent))


@app.command()
def record(
    port: Port,
    log: Annotated[Path, typer.Argument(help="The log to write.")],
    codec: CodecName = None,
    baud: Baud = None,
    course: Course = "junior",
    most: Annotated[float, typer.Option(help="Greatest duty.", min=0.1, max=1.0)] = 1.0,
    tachometer: Annotated[bool, typer.Option(help="The car has a tachometer.")] = False,
    profile: ProfileName = "",
    placed: Placed = False,
    held: Held = None,
) -> None:
    """Drives the identification run (accelerate, roll, brake, for 20 s) and records it. Any key stops the car; with a dead-man
    key, so does letting go of it. Exit status 1 if the car or its link fails."""
    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.hardware.env import HardwareEnv
    from asobiba.envs.mini4wd.hardware.identify import excitation
    from asobiba.envs.mini4wd.hardware.keys import Keys

    try:
        with Keys() as key:
            dead_man = dead_man_of(port, key, held)
            env = HardwareEnv(
                port, codec=codec, baudrate=baud, log=str(log), stop_key=dead_man or key, course=course, laps=100, tachometer=tachometer,
                place=placing(port, placed, key, dead_man), **_profile(profile),
            )  # fmt: skip
            try:
                if port == "sim" and dead_man is not None:
                    wait_for(dead_man)
                env.reset()
                steps, period = 0, float(env.ruleset.params[0]["control_step"])
                info: dict[str, Any] = {}
                while (action := excitation(steps * period, most)) is not None and "cause" not in info:
                    *_, info = env.step(list(action))
                    steps += 1
            finally:
                env.close()
    except (AsobibaError, ValueError) as error:
        raise _fail(error) from None
    typer.echo(
        f"{steps} steps of {period * 1e3:.0f} ms in {log}" + (f"; ended: {info['cause']}" if "cause" in info else "")
    )
    raise typer.Exit(int(info.get("failed", False)))


@app.command()
def drive(
    port: Port,
    driver: Annotated[str, typer.Argument(help="A controller, such as shape:straight=0.6, or `keyboard`, to teach.")],
    codec: CodecName = None,
    baud: Baud = None,
    course: Course = "junior",
    car: Annotated[str, typer.Option(help="The car: its tyres, and what a controller takes for the car.")] = "stock",
    laps: Annotated[int, typer.Option(help="Laps.", min=1, max=100)] = 3,
    most: Annotated[float, typer.Option(help="Greatest duty.", min=0.1, max=1.0)] = 1.0,
    seconds: Annotated[float, typer.Option(help="Longest run.", min=1, max=60)] = 30.0,
    tachometer: Annotated[bool, typer.Option(help="The car has a tachometer.")] = False,
    profile: ProfileName = "",
    placed: Placed = False,
    held: Held = None,
    log: Annotated[Path | None, typer.Option(help="Write a log to this file.")] = None,
    tape: Annotated[
        Path | None, typer.Option(help="Save the run to this file; play it with playback:path=FILE.")
    ] = None,
) -> None:
    """Lets a controller drive the car, or a person by keyboard. Any key (by keyboard: any other) stops the car; with a dead-man
    key, so does letting go of it. Exit status 1 if the car or its link fails."""
    from asobiba.baselines.mini4wd.driving import controller_for, drive_car
    from asobiba.baselines.mini4wd.keyboard import HELP, KeyDriver
    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.hardware.env import CarNotReady, HardwareEnv
    from asobiba.envs.mini4wd.hardware.keys import Keys

    try:
        with Keys() as keys:
            by_hand = driver == "keyboard"
            if by_hand and not keys.there:
                raise CarNotReady("driving by keyboard needs a terminal; name a controller instead")
            dead_man = dead_man_of(port, keys, held, None if by_hand else " ")
            person = KeyDriver((dead_man or keys).read) if by_hand else None
            env = HardwareEnv(
                port, codec=codec, baudrate=baud, max_duty=most, log=str(log) if log else None, course=course, car=car,
                laps=laps, max_seconds=seconds, tachometer=tachometer, place=placing(port, placed, keys, dead_man), **_profile(profile),
                stop_key=(dead_man or keys) if person is None else lambda: person.stopped or bool(dead_man and dead_man.released),
            )  # fmt: skip
            try:
                if person is None:
                    act = controller_for(env, driver)
                else:
                    typer.echo(f"{HELP} Any other key stops the car.")
                    act = lambda view: person.command()  # noqa: E731
                if port == "sim" and dead_man is not None:
                    wait_for(dead_man)
                recorded, info = drive_car(env, act, driver)
            finally:
                env.close()
    except (AsobibaError, ValueError) as error:
        raise _fail(error) from None
    steps, step = len(recorded.rows), recorded.control_ms
    typer.echo(
        f"{info['cause']} after {steps * step / 1000:.2f} s at {info['progress']:.2f} m; {steps} steps of {step} ms, "
        f"{info['deadline_misses']} deadlines missed, frames lost {info['lost']}, bad {info['bad_frames']}"
    )
    if tape is not None:
        recorded.save(tape)
        typer.echo(f"recorded in {tape}")
    raise typer.Exit(int(info["failed"]))


@app.command()
def replay(log: Annotated[Path, typer.Argument(help="A recorded log.")]) -> None:
    """Plays a log back through the environment and compares every observation with the recorded one, bit for bit."""
    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.hardware.replay import replay_log

    try:
        result = replay_log(log)
    except (AsobibaError, ValueError) as error:
        raise _fail(error) from None
    typer.echo(
        f"{result.steps} steps, {result.differing} observations differ, {result.differing_writes} messages to the car differ"
        + (f"; the run ended: {result.cause}" if result.cause else "")
    )
    if result.differing or result.differing_writes:
        raise typer.Exit(1)


@app.command()
def identify(
    log: Annotated[Path, typer.Argument(help="A recorded log.")],
    car: Annotated[str, typer.Option(help="The car file to begin with.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the car file that was found.")] = None,
    lane: Annotated[int, typer.Option(help="The lane in which the car was put; -1 tries all.", min=-1)] = -1,
    fit: Annotated[str, typer.Option(help="Fields to fit, separated by commas; the default set if empty.")] = "",
) -> None:
    """Fits a car file's drive and drag parameters to a recorded run and reports the residuals."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.car import CAR_FIELDS, load_car
    from asobiba.envs.mini4wd.hardware.identify import PARAMETERS
    from asobiba.envs.mini4wd.hardware.identify import identify as find
    from asobiba.envs.mini4wd.profile import SENSOR_FIELDS

    console = Console()
    try:
        begin = load_car(car)
        names = tuple(filter(None, fit.split(","))) or PARAMETERS
        with console.status("fitting"):
            found = find(log, begin, names, None if lane < 0 else lane, console.print)
    except (AsobibaError, ValueError) as error:
        raise _fail(error) from None
    units = {field.name: field.unit for field in (*CAR_FIELDS, *SENSOR_FIELDS)}
    table = Table(title=f"{found.seconds:.1f} s, lane {found.lane}, gyro scale {found.gyro_scale:.3f}")
    for name in ("field", "before", "found", "95 % interval", "unit"):
        table.add_column(name, justify="left" if name in ("field", "unit") else "right")
    for name, value in found.values.items():
        low, high = found.intervals[name]
        table.add_row(name, f"{found.began[name]:.4g}", f"{value:.4g}", f"{low:.4g} to {high:.4g}", units[name])
    console.print(table)
    for name, why in found.hidden.items():
        console.print(f"not revealed: {name}: {why}")
    decay = min(found.decay_costs, key=lambda k: found.decay_costs[k])
    console.print(
        f"between its pulses the bridge probably {'shorts the motor' if decay else 'leaves the motor free'} (slow_decay {decay}; cost "
        f"{found.decay_costs[decay]:.1f}, the other way {found.decay_costs[1 - decay]:.1f})"
    )
    table = Table(title="residuals, rms")
    for name in ("of", "before", "after"):
        table.add_column(name, justify="left" if name == "of" else "right")
    for name, value in found.after.items():
        table.add_row(name, f"{found.before[name]:.4f}", f"{value:.4f}")
    console.print(table)
    if out is not None:
        out.write_text(yaml.safe_dump(found.car.as_data(), sort_keys=False, allow_unicode=True), encoding="utf-8")
        console.print(f"written: {out}")
    if found.electronics:
        of_profile = ", ".join(f"{name}: {value:.4g}" for name, value in found.electronics.items())
        console.print(f"for the profile: {of_profile}")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="CSV of an AI chip, raw 43-byte frames, or a run log.")],
    axes: Annotated[str, typer.Option(help="The sensor's axes that point ahead, left and up.")] = "-y-x-z",
    base: Annotated[
        str, typer.Option(help="The profile to begin with; by default the run log's, else rt_ai_chip.")
    ] = "",
    car: Annotated[str, typer.Option(help="The car that was driven; by default the run log's, else alkaline.")] = "",
    course: Annotated[str, typer.Option(help="The course; by default the run log's, else junior.")] = "",
    out: Annotated[Path | None, typer.Option(help="Where to write the fitted profile.")] = None,
) -> None:
    """Reads a recorded run, fits a profile's noise, mounting and supply to it, and shows what is left."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd import GAME
    from asobiba.envs.mini4wd.hardware.importing import UNITS, fit_profile, read_recording

    console = Console()
    try:
        recording = read_recording(file, axes)
        ours = recording.settings
        base = base or str(ours.get("profile", "rt_ai_chip"))
        driven = car or ours.get("car", GAME.parameters["car"] if ours else "alkaline")
        course = course or ours.get("course", "junior")
        with console.status("fitting"):
            fitted = fit_profile(recording, base, driven, course, name=out.stem if out else "fitted")
    except (AsobibaError, ValueError) as error:
        raise _fail(error) from None
    console.print(
        f"{fitted.measured.frames} frames in {fitted.measured.seconds:.1f} s; {recording.doubled:.0%} of the rows repeat a frame"
    )
    table = Table(title=f"measured, and the simulator with {base} and with the fitted profile")
    for column in ("figure", "unit", "measured", base, "fitted"):
        table.add_column(column, justify="left" if column in ("figure", "unit") else "right")
    for name, unit in UNITS.items():
        table.add_row(
            name, unit, *(f"{side.values[name]:.4g}" for side in (fitted.measured, fitted.before, fitted.after))
        )
    console.print(table)
    if fitted.battery:
        console.print("for the car file: battery: " + ", ".join(f"{k} {v:.3g}" for k, v in fitted.battery.items()))
    if out is not None:
        out.write_text(yaml.safe_dump(fitted.data, sort_keys=False, allow_unicode=True), encoding="utf-8")
        console.print(f"written: {out}")


@app.command()
def emulate(
    course: Course = "junior",
    car: Annotated[str, typer.Option(help="The car.")] = "stock",
    profile: Annotated[str, typer.Option(help="The car's electronics.")] = "atmega328p",
    lane: Annotated[int, typer.Option(help="The lane; -1: any.", min=-1)] = -1,
    randomise: Annotated[str, typer.Option(help="Ranges from which the car is drawn.")] = "default",
    seed: Annotated[int, typer.Option(help="Of car and sensors.", min=0)] = 0,
    build: Annotated[
        Path | None, typer.Option(help="Folder with mini4wd.elf and emulator (make -C firmware/mini4wd all emulator).")
    ] = None,
    python: Annotated[bool, typer.Option(help="The program's twin in Python instead of the emulated chip.")] = False,
    seconds: Annotated[float, typer.Option(help="How long; 0: until interrupted.", min=0)] = 0.0,
) -> None:
    """A car without a car: the firmware on an emulated chip, the physics around it, in real time, behind a serial port."""
    import time

    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.hardware.body import SimulatedBody
    from asobiba.envs.mini4wd.hardware.emulate import FIRMWARE, ChipPort, EmulatedCar, ProgramPort, built_for_another
    from asobiba.envs.mini4wd.hardware.env import parse_axes
    from asobiba.envs.mini4wd.hardware.program import PROFILE_OF_CODEC
    from asobiba.envs.mini4wd.profile import load_profile

    folder = build or FIRMWARE
    try:
        electronics = load_profile(profile)
        body = SimulatedBody(
            seed, parse_axes(electronics.axes), course=course, car=car, lane=lane, profile=profile, randomise=randomise
        )
        python = python or electronics.codec != "asobiba"
        there = all((folder / name).is_file() for name in ("mini4wd.elf", "program/profile.h", "emulator"))
        if not python and not there:
            raise AsobibaError(
                f"{folder} lacks mini4wd.elf or emulator: make -C firmware/mini4wd all emulator, or say --python"
            )
        if not python and (others := built_for_another(folder, electronics)):
            raise AsobibaError(
                f"the program in {folder} was built for another profile ({'; '.join(others)}): asobiba hil firmware-profile "
                f"{profile} --out DIR/profile.h, make -C firmware/mini4wd all emulator PROFILE_DIR=DIR BUILD=DIR, and --build "
                "DIR; or say --python"
            )
        if python:
            port: ProgramPort | ChipPort = ProgramPort(body, electronics.codec)
        else:
            port = ChipPort(body, folder / "emulator", folder / "mini4wd.elf")
    except (AsobibaError, ValueError) as error:
        raise _fail(error) from None
    emulated = EmulatedCar(body, port, lambda text: typer.echo(text))
    typer.echo(
        f"{port.port}\nTry: asobiba hil check {port.port}"
        + (f" --profile {profile}" if profile != PROFILE_OF_CODEC["asobiba"] else "")
    )
    end = time.monotonic() + seconds if seconds else float("inf")
    try:
        emulated.run(lambda: time.monotonic() >= end)
    except KeyboardInterrupt:
        pass
    finally:
        port.close()


@app.command("firmware-profile")
def firmware_profile(
    profile: Annotated[str, typer.Argument(help="A profile.")] = "atmega328p",
    out: Annotated[
        Path | None, typer.Option(help="Where to write it; firmware/mini4wd/src/profile.h is the firmware's.")
    ] = None,
) -> None:
    """The header that makes a profile known to the car's program."""
    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.profile import firmware_header, load_profile

    try:
        text = firmware_header(load_profile(profile))
    except AsobibaError as error:
        raise _fail(error) from None
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"written: {out}")
