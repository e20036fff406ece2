"""Agents of untrusted packages, each in a separate contained process.

`HostedAgent` takes the seat and passes on, as JSON lines, the answers of the agent in the process that `main` runs.
Both ends know the game's dtypes, so views are sent as bytes.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from asobiba.core import AsobibaError, Game, GameParameterError, KernelAgent, Ruleset
from asobiba.core.engine import engine_for
from asobiba.core.errors import RefusedAgent
from asobiba.core.states import action_mask, agent_views, legal_actions, new_state, observation, step, view_of
from asobiba.protocols import sandbox
from asobiba.protocols.json_lines import JsonLinesAgent
from asobiba.protocols.process import EngineError, HostedFault, IllegalAnswer

_ENGINE = "ASOBIBA_HOSTED_ENGINE"
_LONGEST_NAME = 40


class HostedAgent(JsonLinesAgent):
    """The agent described by `text`, in a separate process.

    Args:
        game: the game that it plays.
        text: as for `asobiba.core.make_agent`.
    """

    def __init__(self, game: Game, text: str):
        engine = _engine_folder(game)
        environment = {
            "PYTHONPATH": os.pathsep.join(_import_path()), "PYTHONNOUSERSITE": "1", "NUMBA_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            _ENGINE: str(engine or ""),
        }  # fmt: skip
        command = [sys.executable, "-m", "asobiba.protocols.hosted", game.name, _absolute(text)]
        readable: list[str | Path] = [*_readable(text), *([engine] if engine else [])]
        super().__init__(command, readable=readable, environment=environment)
        self.name = text
        self._runs_code = text.startswith("file:")

    def begin(self, ruleset: Ruleset, seats: Sequence[int], seeds: Sequence[int]) -> None:
        if len(seats) != 1:
            raise GameParameterError(
                f"agent {self.name!r} thinks in a contained process, where it plays one game at a time, not {len(seats)}; "
                "if you trust it, build it inside `with asobiba.protocols.sandbox.consent(True):`"
            )
        super().begin(ruleset, seats, seeds)

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if not self.running and self._runs_code:
            _compile_positions(ruleset)  # kept in the cache; the process gets a copy
        super().reset(ruleset, seat, seed)
        self._wants = {"bytes"}

    def _say(self, message: Any, seconds: float | None) -> dict[str, Any]:
        answer = super()._say(message, seconds)
        if "name" in answer:
            self.declared = str(answer["name"])[:_LONGEST_NAME]  # it came from the agent, so it may be anything
        if "refused" in answer:
            raise RefusedAgent(str(answer["refused"]))
        if "error" in answer:
            raise HostedFault(str(answer["error"]))
        if "nonsense" in answer:
            raise IllegalAnswer(str(answer["nonsense"]))
        return answer


def _compile_positions(ruleset: Ruleset) -> None:
    """Compiles the kernels behind `asobiba.core.states`, which an agent that looks ahead needs."""
    state = new_state(ruleset, 0)
    actors = ruleset.actors(state)
    if len(actors):
        view_of(ruleset, state, int(actors[0]))
        observation(ruleset, state, int(actors[0]))
        if ruleset.discrete and not ruleset.simultaneous:
            step(ruleset, state, int(legal_actions(ruleset, state)[0]))


def _absolute(text: str) -> str:
    """The agent's text with the absolute path of its file, since the process has another working folder."""
    loader, colon, rest = text.partition(":")
    path, comma, settings = rest.partition(",")
    return f"{loader}:{os.path.abspath(path)}{comma}{settings}" if colon and os.path.exists(path) else text


def _engine_folder(game: Game) -> Path | None:
    """Folder of the compiled rules, so that the process need not compile them again."""
    file = getattr(engine_for(game), "__file__", None)
    return None if file is None else Path(file).parent


def _take_engine() -> None:
    """Copies the compiled rules into this process's own cache, which is bounded and ends with it."""
    source = os.environ.get(_ENGINE)
    if source and os.path.isdir(source):
        os.environ["ASOBIBA_CACHE_DIR"] = place = os.path.join(tempfile.gettempdir(), "cache")
        with contextlib.suppress(OSError, shutil.Error):  # without it the rules are compiled
            shutil.copytree(source, os.path.join(place, os.path.basename(source)), copy_function=shutil.copyfile)


def _import_path() -> list[str]:
    """The folders from which this process imports, without the present one, and others that hold more than modules."""
    others = {os.getcwd(), os.path.expanduser("~"), tempfile.gettempdir(), "/"}
    return [entry for entry in sys.path if os.path.isdir(entry) and os.path.abspath(entry) not in others]


def _readable(text: str) -> list[str]:
    """Folders that a Python process needs to import what this one can; of a checkout only the packages."""
    found = [sys.prefix, sys.base_prefix, *_import_path(), os.path.dirname(os.path.realpath(sys.executable))]
    for name in ("asobiba", "asobiba.envs", "asobiba.baselines"):
        spec = importlib.util.find_spec(name)
        if spec is not None:
            found += [os.path.realpath(place) for place in spec.submodule_search_locations or ()]
    path = text.partition(":")[2].partition(",")[0]
    if path and os.path.exists(path):
        found.append(os.path.abspath(path))
    return found


class _Answerer:
    """The other end: builds the agent and answers for it."""

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text
        self._agent: Any = None
        self._ruleset: Any = None

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        from asobiba.core import game, make_agent

        if message["type"] == "begin":
            found = game(self.name)
            parameters = {k: _tuples(v) for k, v in message["parameters"].items()}
            self._ruleset = found.ruleset(**parameters)
            try:
                if self._agent is None:
                    self._agent = make_agent(found, self.text)
                    self._compile()
                self._agent.reset(self._ruleset, message["seat"], message["seed"])
            except (AsobibaError, FileNotFoundError) as error:
                if isinstance(error, EngineError):
                    raise
                return {"refused": str(error)}
            return {"ready": True, "name": str(self._agent.declared)[:_LONGEST_NAME]}
        view = np.frombuffer(base64.b64decode(message["bytes"]), self._ruleset.dtype)[0].copy()
        legal = np.frombuffer(base64.b64decode(message["mask"]), np.int8).copy()
        return self._plain(self._agent.act(view, legal))

    def _compile(self) -> None:
        """Asks a compiled agent once, at the start of a game, so that its first move does not wait for the compiler."""
        state = new_state(self._ruleset, 0)
        actors = self._ruleset.actors(state)
        if isinstance(self._agent, KernelAgent) and len(actors):
            seat = int(actors[0])
            self._agent.reset(self._ruleset, seat, 0)
            states = self._ruleset.zeros()
            states[0] = state
            (view,) = agent_views(self._ruleset, states, np.array([seat], np.int8))
            mask = action_mask(self._ruleset, state) if self._ruleset.discrete else np.zeros(0, np.int8)
            self._agent.act(view, mask[seat] if mask.ndim == 2 else mask)

    def _plain(self, answer: Any) -> dict[str, Any]:
        """The answer as numbers; any other answer is described here, where its code can do no harm."""
        from asobiba.core.answers import read_answer

        action, remark = read_answer(self._ruleset, answer)
        return {"nonsense": remark} if remark else {"action": np.asarray(action).tolist()}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def main(name: str, text: str) -> None:
    """Answers questions on the standard input until it ends; what the agent prints goes to standard error."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _take_engine()
    answerer = _Answerer(name, text)
    with sandbox.consent(True):  # this process is the containment
        _answer(answerer, output)


def _answer(answerer: _Answerer, output: IO[str]) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "quit":
            return
        try:
            answer = answerer.answer(message)
        except BaseException as error:
            from asobiba.core.answers import describe

            answer = {"error": describe(error)}
        output.write(json.dumps(answer) + "\n")
        output.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
