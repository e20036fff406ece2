"""Games that the official AIWolf servers played, and our server made to play the same ones.

`data/aiwolf_*.json.xz` hold one recorded game each of the servers of 2016 (AIWolfServer, March 2016) and 0.6 (0.6.3), built from
their public sources and run unmodified with recording clients: the server's log, and for each client its packets and
answers. From a recording (an archive of `jlog_*.log` and `rec_*_K.txt`, a packet a line, each followed by `  <- ` and the
answer) they are made by

    python tests/werewolf_recordings.py RECORDING.tar.xz tests/data/aiwolf_2016.json.xz
"""

from __future__ import annotations

import json
import lzma
import socket
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from asobiba import game
from asobiba.arena.secret import Secret
from asobiba.baselines.werewolf.hosting import Hosted, HostedGame
from asobiba.core import states
from asobiba.core.states import action_mask
from asobiba.envs.werewolf.layout import ROLES, TALK, VOTE, WEREWOLF, WHISPER
from asobiba.protocols.aiwolf import ANSWERED, Peer

DATA = Path(__file__).parent / "data"
_LETTERS = dict(zip(ROLES, "vsmbpw", strict=True))


def read_recording(archive: Path) -> dict[str, Any]:
    """A recording as it is kept: `log`, and `clients`, each a list of [packet, answer or None]."""
    with tarfile.open(archive) as files:
        texts = {m.name.rsplit("/", 1)[-1]: files.extractfile(m).read().decode() for m in files if m.isfile()}
    log = next(text for name, text in texts.items() if name.endswith(".log"))
    clients = []
    for _, text in sorted(
        (int(name[:-4].rsplit("_", 1)[1]), text) for name, text in texts.items() if name[-4:] == ".txt"
    ):
        rows: list[list[Any]] = []
        for line in text.split("\n"):
            if line.startswith("  <- "):
                rows[-1][1] = line[5:]
            elif line:
                rows.append([json.loads(line), None])
        clients.append(rows)
    return {"log": log.splitlines(), "clients": clients}


def load(name: str) -> dict[str, Any]:
    """A kept recording."""
    return json.loads(lzma.decompress((DATA / f"aiwolf_{name}.json.xz").read_bytes()))


class ScriptedTable:
    """A table at which chance decides as it did in a recording: the roles, the speakers' order, lots and random votes."""

    def __init__(self, ruleset: Any, log: list[list[str]], spoken: Any):
        self.ruleset, self._log, self._spoken = ruleset, log, spoken
        self.contest = bool(ruleset.params["contest"][0])
        self.states = ruleset.zeros()

    @property
    def state(self) -> np.void:
        return self.states[0]

    @property
    def over(self) -> bool:
        return states.is_over(self.state)

    @property
    def movers(self) -> list[int]:
        return self.ruleset.actors(self.state).tolist()

    def begin(self, seed: int) -> None:
        self.states[0] = states.new_state(self.ruleset, 1)
        self._order_speakers()

    def view(self, seat: int) -> np.void:
        return states.view_of(self.ruleset, self.state, seat)

    def legal(self, seat: int) -> np.ndarray:
        return action_mask(self.ruleset, self.state)[seat]

    def play(self, action: np.ndarray) -> None:
        before = self.state.copy()
        for key in range(100_000):
            before["rng_key"] = key * 0x9E3779B97F4A7C15 % 2**64
            after = states.step(self.ruleset, before, action, strict=False)
            if self._as_recorded(before, after):
                break
        else:
            raise AssertionError(f"no chance leads from here to what was recorded on day {before['day']}")
        self.states[0] = after
        if self.over:
            return
        if self._turn_of(before) != self._turn_of(self.state) or int(before["day"]) != int(self.state["day"]):
            self._order_speakers(before)

    def _rows(self, kind: str, day: int) -> list[list[int]]:
        return [[int(x) for x in row[2:4]] for row in self._log if row[1] == kind and int(row[0]) == day]

    def _as_recorded(self, before: np.void, after: np.void) -> bool:
        day, ballot = int(before["day"]), int(before["ballot"])
        if int(before["phase"]) in (TALK, WHISPER):
            return True
        if int(before["phase"]) == VOTE:
            voters = int((before["left"] == 0).sum())
            cast = [[k + 1, target] for k, target in enumerate(after["votes"][day, ballot].tolist()) if target]
            if cast != self._rows("vote", day)[ballot * voters :][:voters]:
                return False
        executed = [int(row[2]) for row in self._log if row[1] == "execute" and int(row[0]) == day]
        if after["executed"][day] and int(after["executed"][day]) != executed[0]:
            return False
        if int(after["day"]) == day:
            return True
        attacks = [row for row in self._log if row[1] == "attack" and int(row[0]) == day]
        victim = int(attacks[0][2]) if attacks and attacks[0][3] == "true" else 0
        return int(after["victim"][day]) == victim and (
            not attacks or int(after["attack"][day]) == max(int(attacks[0][2]), 0)
        )

    @staticmethod
    def _turn_of(state: np.void) -> tuple[int, int, int]:
        return tuple(int(state[name]) for name in ("phase", "turn", "whisper_turn"))

    def _order_speakers(self, before: np.void | None = None) -> None:
        # The new turn's speakers come in the recorded order; in the contest rules, also those of a turn all say Over in.
        state, phase = self.state, int(self.state["phase"])
        count, day = self.ruleset.num_players, int(state["day"])
        whispering = phase == WHISPER
        if self.contest:
            if phase not in (TALK, WHISPER) and before is not None and int(before["day"]) == day:
                whispering = int(before["phase"]) == WHISPER
                turn = int(before["whisper_turn" if whispering else "turn"]) + 1
            elif phase in (TALK, WHISPER):
                turn = int(state["whisper_turn" if whispering else "turn"])
            else:
                return
            kind = "whisper" if whispering else "talk"
            rows = [row for row in self._log if row[1] == kind and (int(row[0]), int(row[3])) == (day, turn)]
            order = [int(row[4]) - 1 for row in rows]
            if not order:
                return
        elif phase in (TALK, WHISPER):
            quiet = state["whisper_over" if whispering else "over"]
            group = [
                k for k in range(count) if not state["left"][k] and (not whispering or state["role"][k] == WEREWOLF)
            ]
            late = [k for k in group if quiet[k]]
            first = len(group) - len(late)
            at = self._spoken(phase, day)
            order = [
                agent - 1 for _, agent in self._rows("whisper" if whispering else "talk", day)[at : at + first]
            ] + late
            assert sorted(order) == group, (day, phase, order, group, late)
        else:
            return
        state["order"] = -1
        state["order"][: len(order)] = order
        if phase not in (TALK, WHISPER):
            return
        state["acting"] = 0
        remaining = state["whisper_remaining" if whispering else "remaining"]
        cursor = next(c for c, k in enumerate(order) if not self.contest or remaining[k] > 0)
        state["cursor"] = cursor
        state["acting"][order[cursor]] = 1


class ScriptedGame(HostedGame):
    """A hosted game of clients that say what they said in a recording."""

    def __init__(self, recording: dict[str, Any], rules: str):
        status = [line.split(",") for line in recording["log"] if line.startswith("0,status,")]
        deal = "".join(_LETTERS[row[3]] for row in status)
        ruleset = game("werewolf").ruleset(
            players=len(status), rules=rules, talk="turn", operators=rules == "0.6", deal=deal
        )
        self.heard: dict[int, list[Any]] = {seat: [] for seat in range(len(status))}
        self._threads, peers = [], {}
        for client in recording["clients"]:
            seat = next(found["gameInfo"]["agent"] for found, _ in client if found["request"] == "INITIALIZE") - 1
            ours, theirs = socket.socketpair()
            peers[seat] = Peer(ours, "recorded", 20.0)
            answers = [answer for found, answer in client if found["request"] in ANSWERED - {"NAME", "ROLE"}]
            self._threads.append(threading.Thread(target=self._answer, args=(seat, theirs, answers)))
        super().__init__(
            ruleset, [peers[seat] for seat in range(len(status))], [row[5] for row in status], 1, Secret.of_seed(1)
        )
        log = [line.split(",", 5) for line in recording["log"]]
        self.table = ScriptedTable(ruleset, log, self._lines_said)

    def _lines_said(self, phase: int, day: int) -> int:
        lines = self._talk if phase == TALK else self._whispers
        now = len(self._said) if getattr(self, "_phase", None) == phase else 0
        return (len(lines) if lines and lines[0]["day"] == day else 0) + now

    def _step(self, action: np.ndarray) -> None:
        self._phase = int(self.table.state["phase"])
        super()._step(action)
        self._phase = None

    def _answer(self, seat: int, connection: socket.socket, answers: list[str]) -> None:
        with connection, connection.makefile("r", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                found = json.loads(line)
                self.heard[seat].append(found)
                if found["request"] in ANSWERED:
                    connection.sendall((answers.pop(0) + "\n").encode())

    def replay(self) -> Hosted:
        """Plays the game; `heard` is then what each client was sent."""
        for thread in self._threads:
            thread.start()
        hosted = self.play()
        for _, peer in self._peers():
            peer.close()
        for thread in self._threads:
            thread.join(20)
        return hosted


if __name__ == "__main__":
    source, target = (Path(argument) for argument in sys.argv[1:])
    text = json.dumps(read_recording(source), ensure_ascii=False, separators=(",", ":"))
    target.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
