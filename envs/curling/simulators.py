"""The two official simulators: their constants, each once, with unit and source.

The frame is the same for both: the origin is the tee, x points to the thrower's right, y in the direction of play.
Lengths in m, speeds in m/s, angles in rad, times in s. A positive spin is counter-clockwise and curls to the left.

Sources:
    cs2: CurlingSimulator 2 (The University of Electro-Communications, 2014 to 2017): UEC Cup, GAT 2016 to 2018.
    fcv1: the simulator of Digital Curling 3 and 4 (github.com/digitalcurling/DigitalCurling3, MIT licence), after
    Uehara and Ito, IPSJ SIG GI-46(18), 2021.
"""

from __future__ import annotations

from dataclasses import dataclass

RADIUS = 0.145
"""m, of a stone; the same in both simulators."""
CS2, FCV1 = 0, 1

# cs2: ice friction (m/s2; its time runs about ten times as fast as real time), rate of turning, and the contact.
CS2_DECELERATION = 12.009216
CS2_TURN = 0.066696
"""Heading per logarithm of the speed, dtheta = CS2_TURN * dv / v. It is also the spin of delivery, rad/s."""
CS2_CONTACT_FRICTION = 12.009216
CS2_ELASTIC_ABOVE = 1.0
"""m/s; slower contacts lose all of their normal speed (Box2D's b2_velocityThreshold)."""

# fcv1: deceleration a(v) = G * (A / (v + B) + C), heading rate YAW * v**-0.8, spin loss SPIN_LOSS / max(v, SPIN_SPEED).
FCV1_GRAVITY = 9.80665
FCV1_FRICTION = (0.00200985, 0.06385782, 0.00626286)
FCV1_YAW = 0.00820
FCV1_SPIN_LOSS = 0.025
FCV1_SPIN_SPEED = 0.001
FCV1_SPIN = 1.5707963267948966
"""rad/s, of delivery."""
FCV1_CONTACT_FRICTION = 0.2
FCV1_FRAME = 0.001
"""s, of a simulation step: friction acts before a stone moves on, so a stone is half a frame's friction slower."""


@dataclass(frozen=True)
class Simulator:
    """One simulator's sheet, rules and limits.

    Args:
        model: `CS2` or `FCV1`.
        release: distance of the release before the tee.
        hog: y that a stone's centre must exceed to stay in play when all stand still (fully across the hog line).
        back: y from which a moving stone is out (it no longer touches the back line).
        side: |x| from which a moving stone is out (it touches the side line).
        house: radius of the house; score: distance below which a stone counts; fgz_house: distance below which it
            lies in the house for the free guard zone; fgz_tee: y below which it lies before the tee line for it.
        all_checked: whether every stone at rest short of the hog line is removed, or only the delivered one.
        spin: rad/s of delivery.
        noise: standard deviations: of the target in x and y (m, cs2) or of speed and angle (m/s and rad, fcv1).
        lateral, slowest, fastest: the box of velocities: |vx| up to `lateral`, vy from `slowest` to `fastest`.
        speed_limit: a faster delivery is cut to this speed before noise.
        far: y of the farthest target of the action "target" (m beyond the tee).
        weights: remaining speeds (m/s) of a stone at its target: soft, firm, hard.
        extra_ends: most extra ends after a tied game.
        ends: of a game, as the tournaments of the simulator have it.
        guards: shots of an end during which the opponent's guards are free.
        thinking: s for all of one player's shots of a game.
    """

    model: int
    release: float
    hog: float
    back: float
    side: float
    house: float
    score: float
    fgz_house: float
    fgz_tee: float
    all_checked: bool
    spin: float
    noise: tuple[float, float]
    lateral: float
    slowest: float
    fastest: float
    speed_limit: float
    far: float
    weights: tuple[float, float, float]
    extra_ends: int
    ends: int
    guards: int
    thinking: float


SIMULATORS = {
    "cs2": Simulator(
        model=CS2, release=36.40, hog=4.88 - 11.135, back=4.88 - 2.905, side=2.23, house=1.83, score=1.83 + 0.15,
        fgz_house=1.975, fgz_tee=4.88 - 5.025, all_checked=False, spin=CS2_TURN, noise=(0.0725, 0.29), lateral=3.1,
        slowest=26.0, fastest=33.71, speed_limit=48.79, far=10.95, weights=(2.7, 6.4, 13.0), extra_ends=0, ends=10,
        guards=4, thinking=438.0,
    ),
    "fcv1": Simulator(
        model=FCV1, release=38.405, hog=32.004 - 38.405 + RADIUS, back=1.829 + RADIUS, side=4.75 / 2 - RADIUS,
        house=1.829, score=1.829 + RADIUS, fgz_house=1.829 + RADIUS, fgz_tee=-RADIUS, all_checked=True,
        spin=FCV1_SPIN, noise=(0.0076, 0.0018), lateral=0.4, slowest=2.0, fastest=4.0, speed_limit=4.0, far=30.0,
        weights=(0.6, 1.5, 3.0), extra_ends=245, ends=10, guards=5, thinking=219.0,
    ),
}  # fmt: skip
"""cs2's sheet is that of its source, where the tee lies at (2.375, 4.88), y down and the release at (2.375, 41.28)."""

NOISES = {"uec": ("cs2", (0.145, 0.145)), "gat": ("cs2", (0.0725, 0.29)), "dc3": ("fcv1", (0.0076, 0.0018))}
"""Published settings: the UEC Cup's "random 0.145", GAT's half a radius by two radii, Digital Curling 3's defaults."""

# The official `CreateShot` of cs2 aims at a point by this linear rule: a sideways shift and a slope.
CREATE_SHOT_SHIFT, CREATE_SHOT_SLOPE = 1.22, 0.0335
