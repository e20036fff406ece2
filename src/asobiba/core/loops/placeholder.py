"""A placeholder game: the functions that the loops import, with their arguments. The engine binds a real game in its
place."""

from __future__ import annotations

from asobiba.core.kernels import kernel

JOINT = False
"""Whether several players may act at once: an action then has one row per player."""
SOME = False
"""Whether `s.acting` says which of them act."""
LEAVES = False
"""Whether `s.left` says which players are out of the game."""
REPLACES = False
"""Whether an illegal action is replaced (`replacement`) instead of ending the game."""
FAULT_LIMIT = 0
"""Number of replaced actions after which all of a player's are replaced; 0: never."""
DISCRETE = True
"""Whether actions are integers (else arrays of floats)."""
IS_LEGAL = False
"""Whether the game has `is_legal`, so that stepping needs no mask."""
DRAWS = False
"""Whether the game has `random_action`, so that sampling needs no mask."""
OPENED = False
"""Whether games begin with random plies (`p.opening_plies`)."""
ZERO_SUM = True
"""Whether the others share the reward that a player forfeits."""
SEATED = False
"""Whether there is at most one learner per game, and compiled agents play the other seats."""
VIEWED = False
"""Whether agents see less than the state."""
MASKED = True
"""Whether an agent reads the mask, so that it is written before each of their moves."""
ALLOCATES = False
"""Whether an agent's policy makes arrays."""


@kernel
def reset(s, p):
    """The starting position."""


@kernel
def legal(s, p, mask):
    """The legal actions of the player to move, `(actions,)`, or of every player, `(seats, actions)`."""
    mask[:] = 1


@kernel
def no_mask(s, p, mask):
    """`legal` of a game whose actions are floats: there is nothing to write."""


@kernel
def is_legal(s, p, action):
    """Whether the mover may play this action."""
    return True


@kernel
def random_action(s, p, record):
    """A uniform legal action of the mover, drawn from the generator of `record`."""
    return 0


@kernel
def step(s, p, action):
    """Applies an action: an integer, a row of floats, or one row per player."""
    s.terminated = 1


@kernel
def replacement(s, p, player, mask):
    """The action that the rules play in the place of an illegal one; where actions are floats, it is written into the
    last argument instead."""
    return 0


@kernel
def observe(s, p, player, out):
    """Observation of a player, `(size,)`."""
    out[:] = 0


@kernel
def hide(s, p, player):
    """Blanks everything that a player may not know."""


@kernel
def resample(s, p, player):
    """Draws the blank fields anew."""


@kernel
def valid(s, p):
    """Whether the rules can have produced this record."""
    return True


# The binding writes these for the compiled agents at the seats (`asobiba.core.engine`): agent `who` is one of them, whose
# memory is the record `mine` of its array in the table.


@kernel
def choose(who, view, p, mask, table, mine):
    """The action of an agent."""
    return -1


@kernel
def choose_box(who, view, p, mask, table, mine, out):
    """Writes the action of an agent into `out`, where actions are floats."""


@kernel
def begin_agent(who, table, mine, seed, k):
    """Gives an agent at seat `k` the memory that it begins a game with."""
