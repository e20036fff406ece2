"""A plain simulator of curling shots: frames of one millisecond, as the official ones have, nothing clever.

Written from the equations alone and sharing nothing with `asobiba.envs.curling`, constants included. In every frame
each stone is slowed and turned, then moved; a touch within a frame is found on the straight ways of that frame, as
Box2D's continuous collision does for its bullets.
"""

import math

import numpy as np
from numba import njit

R = 0.145
DT = 0.001


@njit(error_model="numpy")
def slow_cs2(v, w, f):
    """One step of cs2's friction with the speed change `f`: new velocity and spin."""
    speed = math.hypot(v[0], v[1])
    if speed <= f:
        return 0.0, 0.0, 0.0
    x, y = v[0] * (1 - f / speed), v[1] * (1 - f / speed)
    if w != 0:
        length = math.hypot(x, y)
        s = 1.0 if w > 0 else -1.0
        ax, ay = x - s * 0.066696 * f * v[1] / speed, y + s * 0.066696 * f * v[0] / speed
        scale = length / math.hypot(ax, ay)
        x, y = ax * scale, ay * scale
    return x, y, w


@njit(error_model="numpy")
def slow_fcv1(v, w):
    """One frame of fcv1's friction: new velocity and spin."""
    speed = math.hypot(v[0], v[1])
    if speed == 0.0:
        return 0.0, 0.0, 0.0
    after = speed - (0.00200985 / (speed + 0.06385782) + 0.00626286) * 9.80665 * DT
    if after <= 0:
        return 0.0, 0.0, 0.0
    yaw = 0.0
    if abs(w) > 1.2e-7:
        yaw = math.copysign(0.00820, w) * speed**-0.8 * DT
    c, s = math.cos(yaw), math.sin(yaw)
    x, y = v[0] / speed * after, v[1] / speed * after
    w = math.copysign(max(abs(w) - 0.025 / max(speed, 0.001) * DT, 0.0), w)
    return x * c - y * s, x * s + y * c, w


@njit(error_model="numpy")
def touch_time(px, py, vx, vy, left):
    """When two discs, apart by p and drawing nearer by v, touch within `left`; -1 if they do not."""
    b = px * vx + py * vy
    if b >= 0:
        return -1.0
    c = px * px + py * py - 4 * R * R
    if c <= 0:
        return 0.0
    a = vx * vx + vy * vy
    d = b * b - a * c
    if d < 0:
        return -1.0
    t = (-b - math.sqrt(d)) / a
    return t if t <= left else -1.0


@njit(error_model="numpy")
def bounce(cs2, v, w, i, j, nx, ny):
    """Impulses between touching stones, in place."""
    rx, ry = v[i, 0] - v[j, 0], v[i, 1] - v[j, 1]
    vn = rx * nx + ry * ny
    u = -rx * ny + ry * nx + R * (w[i] + w[j])
    if cs2:
        jn = vn if vn > 1.0 else vn / 2
        jt = min(max(u / 6, -12.009216 * jn), 12.009216 * jn)
    else:
        jn = vn
        jt = min(max(u / 6, -0.2 * jn), 0.2 * jn)
    v[i, 0] -= jn * nx - jt * ny
    v[i, 1] -= jn * ny + jt * nx
    v[j, 0] += jn * nx - jt * ny
    v[j, 1] += jn * ny + jt * nx
    w[i] -= 2 * jt / R
    w[j] -= 2 * jt / R


@njit(error_model="numpy")
def play(cs2, release, side, back, stones, alive, thrown, vx, vy, spin):
    """Plays a shot in frames, in place: `stones` (16, 2), `alive` (16,). Returns the number of frames."""
    v = np.zeros((16, 2))
    w = np.zeros(16)
    stones[thrown] = (0.0, -release)
    alive[thrown] = 1
    v[thrown] = (vx, vy)
    w[thrown] = spin
    least = 0.012 if cs2 else 0.0004
    if cs2:
        v[thrown, 0], v[thrown, 1], w[thrown] = slow_cs2(v[thrown], w[thrown], 12.009216 * DT / 2)
    for frame in range(200000):
        moving = False
        for k in range(16):
            if alive[k] and (v[k, 0] != 0 or v[k, 1] != 0):
                moving = True
                if not cs2:
                    v[k, 0], v[k, 1], w[k] = slow_fcv1(v[k], w[k])
        if not moving:
            return frame
        left = DT
        for _ in range(60):
            best, bi, bj = left, -1, -1
            for i in range(16):
                if not alive[i]:
                    continue
                for j in range(i + 1, 16):
                    if not alive[j]:
                        continue
                    rx, ry = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1]
                    if rx == 0 and ry == 0:
                        continue
                    px, py = stones[j, 0] - stones[i, 0], stones[j, 1] - stones[i, 1]
                    if abs(px) > 0.4 or abs(py) > 0.4:
                        continue
                    d = math.hypot(px, py)
                    if (rx * px + ry * py) / d > -least:
                        continue
                    t = touch_time(px, py, rx, ry, left)
                    if t >= 0 and t < best:
                        best, bi, bj = t, i, j
            for k in range(16):
                stones[k, 0] += v[k, 0] * best
                stones[k, 1] += v[k, 1] * best
            left -= best
            if bi < 0:
                break
            dx, dy = stones[bj, 0] - stones[bi, 0], stones[bj, 1] - stones[bi, 1]
            length = math.hypot(dx, dy)
            bounce(cs2, v, w, bi, bj, dx / length, dy / length)
        for k in range(16):
            if alive[k]:
                if abs(stones[k, 0]) >= side or stones[k, 1] >= back:
                    alive[k] = 0
                    stones[k, 0] = stones[k, 1] = 0.0
                    v[k, 0] = v[k, 1] = 0.0
                elif cs2:
                    v[k, 0], v[k, 1], w[k] = slow_cs2(v[k], w[k], 12.009216 * DT)
    return -1


def power_to_y(power: float, most: float = 16.0) -> float:
    """cs2's scale of weights, 0 to 16 (the GAT 2016 library; later copies allow 50), as the y of a free stone's stop.

    0 stops on the hog line, 4 enters the house, 10 is the back line, 16 the hardest throw. In the tee's frame, m.
    """
    power = min(power, most)
    if power <= 1:
        there = 11.28 - 0.76 * power
    elif power <= 3:
        there = 10.52 - 1.52 * (power - 1)
    elif power <= 4:
        there = 7.47 - 0.76 * (power - 3)
    elif power <= 10:
        there = 6.71 - 0.61 * (power - 4)
    else:
        there = 3.05 - 1.52 * (power - 10)
    return 4.88 - there


_ESTIMATE = (
    (5.048122574925176e-4, 0.2756242531609261, -4.6669575066030805e-4, 29.898958358378636, -0.0014030973174948508,
     0.13968687866736632, 0.41120940058777616),
    (-0.0014309170115803444, 0.9858457898438147, 8.339331735471273e-4, 29.86751291726946, -0.19811799977982522,
     0.13967323742978, 0.42816312110477517),
)  # fmt: skip


def estimate_speed(distance: float, speed: float) -> float:
    """Digital Curling 3's regression: the speed of delivery (m/s) that has `speed` left after `distance` (m)."""
    if speed <= 1.0:
        a, b, c, d, e, f, g = _ESTIMATE[0 if speed <= 0.05 else 1]
        first, second, third = a * distance + b, c * math.log(distance - d) + e, f * distance + g
    else:
        first = (
            1.0833113118071224e-6 * distance**3
            - 1.2132851917870833e-4 * distance**2
            + 0.004578093297561233 * distance
            + 0.9767006869364527
        )
        second = -0.07950648211492622 * math.log(distance - 8.228225657195706) - 0.05601306077702578
        third = 0.14140440186382008 * distance + 0.3875782508767419
    return math.sqrt(first * speed * speed + second * speed + third)
