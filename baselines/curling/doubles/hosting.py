"""A hosted game of mixed doubles: as one of curling, with placements."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.curling.hosting import AgentSeat, Fault, HostedGame, ProtocolError, Seat
from asobiba.core.states import view_of
from asobiba.envs.curling.doubles.rules import placement_of
from asobiba.envs.curling.doubles.simulate import deliver, place, placement_is_due
from asobiba.envs.curling.simulate import Shot


class HostedDoubles(HostedGame):
    """A game of mixed doubles that a host keeps. A placement takes nothing from the clock, as on the official server."""

    def delivered(self, before: np.void, shot: Shot) -> np.void:
        return deliver(self.ruleset, before, shot)

    def turn(self, seats: list[Seat]) -> None:
        if not placement_is_due(self.state):
            super().turn(seats)
            return
        seat = int(self.state["to_move"])
        try:
            self.state = place(self.ruleset, self.state, seats[seat].ask_placement(self, seat))
            self.record.final = self.state
        except TimeoutError:
            self.end_by(Fault(seat, "time_limit", f"{self.names[seat]} ran out of time before the placement"))
        except ProtocolError as error:
            self.end_by(Fault(seat, "protocol_error", f"{self.names[seat]}: {error}"))


class DoublesAgentSeat(AgentSeat):
    """An agent of our own in a hosted game of mixed doubles."""

    def ask_placement(self, game: HostedGame, seat: int) -> int:
        action = self.agent.act(view_of(game.ruleset, game.state, seat), np.zeros(0, np.int8))
        return placement_of(action[3])
