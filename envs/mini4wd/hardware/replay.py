"""Replays a log through the environment that recorded it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from asobiba.envs.mini4wd.hardware.env import HardwareEnv
from asobiba.envs.mini4wd.hardware.runlog import ReplayTransport, read_log


@dataclass(frozen=True)
class Replay:
    """Result of a replay: steps, observations and messages to the car that differ from the recorded ones, and how it ended."""

    steps: int
    differing: int
    differing_writes: int
    cause: str | None


def replay_log(path: str | Path) -> Replay:
    """Repeats the actions of a log with the recorded bytes, and compares the results.

    Raises:
        LogError: for a file that is no log.
    """
    _, entries = read_log(path)
    env = HardwareEnv("replay", recording=str(path))
    steps = differing = 0
    cause: str | None = None
    for entry in entries:
        if "reset" in entry:
            _, info = env.reset(seed=entry["reset"])
            cause = None
        elif "a" in entry:
            *_, info = env.step(entry["a"])
            steps += 1
            cause = info.get("cause")
        else:
            continue
        differing += not info["same_as_recorded"]
    transport = env.link.transport
    assert isinstance(transport, ReplayTransport)
    env.close()
    return Replay(steps, differing, transport.differing, cause)
