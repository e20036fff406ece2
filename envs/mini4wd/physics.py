"""The car on its lane: kernels shared by the games of this package. SI units; one substep is 1 ms.

Every field of a car has one row per player; `k` is the player. On the road the car has one degree of freedom along its
lane, `u` (m from the beginning of the piece) with speed `v`; its wheels turn with the surface speed `w`, which differs
from `v` while the tyres slip. In flight it has height `z`, vertical speed `vz`, pitch, and the offset `y` from the
middle of the lane (m, to the left); `v` is then the horizontal speed.
"""

from __future__ import annotations

import math

from asobiba.core import kernel, random_uniform
from asobiba.core.elementary import cos, sin, sincos
from asobiba.envs.mini4wd.car import (
    BATTERY_R,
    BRAKE,
    CG_HEIGHT,
    CG_REAR,
    EFFICIENCY,
    ENTRY_LOSS,
    FENCE,
    GEAR,
    GRIP,
    LANDING_DRAG,
    LANDING_PITCH,
    MASS,
    MOTOR_I0,
    MOTOR_K,
    MOTOR_R,
    PITCH_INERTIA,
    RESTITUTION,
    ROLL_INERTIA,
    ROLLER_DRAG,
    ROLLER_OFFSET,
    ROLLING,
    ROTOR,
    SPEED_DRAG,
    TREAD,
    TYRE,
    VOLTAGE,
    VOLTAGE_DROP,
    WHEELBASE,
    WHEELS,
    WIDTH,
    WIRING_R,
)  # fmt: skip
from asobiba.envs.mini4wd.course import (
    BASE,
    CANT,
    CURVE,
    DROP,
    HEIGHT,
    KAPPA,
    KIND,
    LANE_CHANGER,
    LENGTH,
    NEXT_LANE,
    PREVIOUS_LANE,
    START,
    THETA,
)  # fmt: skip
from asobiba.envs.mini4wd.profile import (
    ACTION_DELAY,
    BATTERY_GRACE,
    BATTERY_LIMIT,
    BATTERY_LOW,
    BRAKE_R,
    BRIDGE_R,
    DEAD_TIME,
    KNOWS_MODES,
    LINK_TIMEOUT,
    MAXIMUM_DUTY,
    PWM_FREQUENCY,
    REVERSE_LIMIT,
    SLOW_DECAY,
    STANDING,
)
from asobiba.envs.mini4wd.sensors import count_pulses, filter_samples, take_sample

DT = 0.001
GRAVITY = 9.80665
LANE_WIDTH = 0.115
CRAWL = 0.02
"""Speed below which friction fades out and a car counts as standing, m/s."""
ROLL_OUT = 0.5
"""Roll at which a car has climbed the fence, rad."""
BRAKE_SHARE = 0.3
"""Share of the weight on the brake pads where the road bends up or down."""
SETTLES = 0.2
"""A car that would bounce more slowly than this stays on the road, m/s."""
LANDING_TIME, WALL_TIME = 0.003, 0.005
"""Duration of an impact on road and wall in the accelerometer, s."""

DRIVE, BRAKING, FREE = 0, 1, 2
MODES = ("drive", "brake", "free")
RUNNING, AT_LANE_CHANGER, AT_LANDING, IN_CORNER, STOPPED, CAUGHT = range(6)
CAUSES = ("running", "lane changer", "landing", "corner", "stopped", "caught")
"""Reasons why a car is out. Caught: the follower came within 2 m."""


@kernel
def height_at(p, piece, lane, u):
    """Height of the road `u` metres into a piece, m."""
    theta = p.track[piece, lane, THETA]
    curve = p.track[piece, lane, CURVE]
    if abs(curve) > 1e-9:
        return p.track[piece, lane, HEIGHT] + (cos(theta) - cos(theta + curve * u)) / curve
    return p.track[piece, lane, HEIGHT] + u * sin(theta)


@kernel
def soft_sign(x):
    """The sign of a speed, fading out near standstill so that friction stops a car instead of shaking it."""
    return x / (abs(x) + CRAWL)


@kernel
def motor(s, k, w, duty, mode):
    """Force at the tyres' circumference (N), motor current and battery current (A), at wheel speed `w` (m/s).

    The winding's inductance smooths the current over a pulse and is otherwise left out (its time constant is below 0.5 ms):
    the battery sees the duty's share of the current. During a pulse the current flows through a high side and a low side of
    the bridge, in a short circuit through both low sides. The bridge's dead time shortens the pulses of a duty below 1.
    """
    ratio = 2.0 * s.car[k, GEAR] / s.car[k, TYRE]
    constant = s.car[k, MOTOR_K] * ratio
    emf = constant * w
    supply = s.car[k, VOLTAGE] - s.car[k, VOLTAGE_DROP] * s.charge[k]
    current = 0.0
    if mode == BRAKING or (mode == DRIVE and duty == 0.0 and s.sensor[k, SLOW_DECAY] > 0.5):
        current = -emf / (s.car[k, MOTOR_R] + s.sensor[k, BRAKE_R])
        duty = 0.0
    elif mode == DRIVE:
        share = abs(duty)
        if share < 1.0:
            share = max(share - s.sensor[k, DEAD_TIME] * s.sensor[k, PWM_FREQUENCY], 0.0)
            duty = share if duty > 0.0 else -share
        between = s.sensor[k, BRAKE_R] if s.sensor[k, SLOW_DECAY] > 0.5 else s.sensor[k, BRIDGE_R]
        bridge = share * s.sensor[k, BRIDGE_R] + (1.0 - share) * between
        source = s.car[k, BATTERY_R] + s.car[k, WIRING_R]
        current = (duty * supply - emf) / (s.car[k, MOTOR_R] + bridge + share * share * source)
        if s.sensor[k, SLOW_DECAY] < 0.5:  # the bridge conducts in the direction of its command only
            if duty >= 0.0:
                current = max(current, 0.0)
            else:
                current = min(current, 0.0)
    else:
        duty = 0.0
    force = constant * (current - s.car[k, MOTOR_I0] * soft_sign(w))
    if force * w >= 0.0:
        force *= s.car[k, EFFICIENCY]
    else:
        force /= s.car[k, EFFICIENCY]
    return force, current, duty * current


@kernel
def watch_battery(s, k, driven):
    """Counts how long the battery has been below its limit; a motor that starts a standing car may pull it below for a while."""
    if driven:
        if s.idle[k] >= STANDING:
            s.driven[k] = 0.0
        s.idle[k] = 0.0
        s.driven[k] += DT
    else:
        s.idle[k] += DT
    if s.low[k] >= BATTERY_LOW:
        return
    if s.bus[k] < s.sensor[k, BATTERY_LIMIT] and s.driven[k] > s.sensor[k, BATTERY_GRACE]:
        s.low[k] += DT
    else:
        s.low[k] = 0.0


@kernel
def obey(s, k):
    """The duty and mode that the car's own program gives the motor for one substep; its limits override commands."""
    duty, mode = s.duty[k], s.mode[k]
    if mode == DRIVE and duty < 0.0:
        s.reversed[k] += DT
        if s.reversed[k] > s.sensor[k, REVERSE_LIMIT] + 1e-9:
            return 0.0, BRAKING
    else:
        s.reversed[k] = 0.0
    watch_battery(s, k, mode == DRIVE and duty != 0.0)
    if s.low[k] >= BATTERY_LOW:
        return 0.0, BRAKING
    if mode != DRIVE and s.sensor[k, KNOWS_MODES] < 0.5:
        return 0.0, DRIVE
    most = s.sensor[k, MAXIMUM_DUTY]
    return min(max(duty, -most), most), mode


@kernel
def place_car(s, p, k, lane):
    """Puts a car at rest on its lane of the start."""
    s.lane[k] = lane
    s.piece[k] = 0
    s.u[k] = p.start_distance / p.track[0, lane, BASE] * p.track[0, lane, LENGTH]
    s.progress[k] = 0.0


@kernel
def draw_car(s, p, k):
    """The car of this episode: the nominal values times factors drawn from the ranges."""
    cars = s.car.shape[1]
    for j in range(p.ranges.shape[0]):
        factor = p.ranges[j, 0]
        if p.ranges[j, 1] > factor:
            factor += (p.ranges[j, 1] - factor) * random_uniform(s)
        if j < cars:
            s.car[k, j] = p.car[k, j] * factor
        else:
            s.sensor[k, j - cars] = p.sensor[j - cars] * factor


@kernel
def measure_progress(s, p, k):
    """Writes the car's distance from the start, m along the mean of all lanes."""
    piece = s.piece[k]
    lane = s.lane[k]
    row_start = p.track[piece, lane, START]
    share = s.u[k] / p.track[piece, lane, LENGTH]
    s.progress[k] = s.lap[k] * p.lap_length + row_start + share * p.track[piece, lane, BASE] - p.start_distance


@kernel
def leave(s, k, in_flight, otherwise):
    """Writes the reason why the car is out: the lane changer if the car is there or took off there."""
    kind = s.launch[k] if in_flight else s.kind[k]
    s.cause[k] = AT_LANE_CHANGER if kind == LANE_CHANGER else otherwise


@kernel
def hit_wall(s, p, k, change):
    """A curve of curvature `change` (1/m) begins: the car runs into its wall at a small angle and loses speed."""
    gap = max(LANE_WIDTH - s.car[k, WIDTH], 0.0)
    angle = min(2.0 * gap * abs(change), 0.25)  # squared, rad2
    bounce = s.car[k, RESTITUTION]
    speed = s.v[k]
    s.v[k] = speed * math.sqrt(1.0 - s.car[k, ENTRY_LOSS] * (1.0 - bounce * bounce) * angle)
    s.knock_y[k] = (
        math.copysign(abs(speed) * math.sqrt(angle) * (1.0 + bounce) / WALL_TIME, change) * s.car[k, ENTRY_LOSS]
    )
    s.knock_y_left[k] = WALL_TIME


@kernel
def steps_down(s, k, drop):
    """Whether a car is so slow that its front wheels have come down a step before its rear wheels leave the edge."""
    arm = s.car[k, CG_REAR]
    gyration = s.car[k, PITCH_INERTIA] / s.car[k, MASS]
    passing = s.car[k, WHEELBASE] / max(abs(s.v[k]), 0.1)
    turned = 0.5 * GRAVITY * arm / (gyration + arm * arm) * passing * passing
    return turned * s.car[k, WHEELBASE] >= drop


@kernel
def cross_pieces(s, p, k):
    """Moves the car on to the piece that it is in: lane changes, laps, lips of jumps, walls at the entry of curves."""
    while s.u[k] >= p.track[s.piece[k], s.lane[k], LENGTH]:
        old, lane = s.piece[k], s.lane[k]
        before = p.track[old, lane, KAPPA]
        if p.track[old, lane, DROP] > 0.0 and s.airborne[k] == 0 and not steps_down(s, k, p.track[old, lane, DROP]):
            take_off(s, p, k, p.track[old, lane, THETA], height_at(p, old, lane, p.track[old, lane, LENGTH]), True)
        s.u[k] -= p.track[old, lane, LENGTH]
        s.lane[k] = int(p.track[old, lane, NEXT_LANE])
        s.piece[k] = old + 1
        if s.piece[k] == p.pieces:
            s.piece[k] = 0
            s.lap[k] += 1
        s.kind[k] = int(p.track[s.piece[k], s.lane[k], KIND])
        after = p.track[s.piece[k], s.lane[k], KAPPA]
        if s.airborne[k] == 0 and abs(after - before) > 1e-9 and after != 0.0:
            hit_wall(s, p, k, after - before)
    while s.u[k] < 0.0:
        old = s.piece[k]
        lane = int(p.track[old, s.lane[k], PREVIOUS_LANE])
        new = old - 1 if old > 0 else p.pieces - 1
        if p.track[new, lane, DROP] > 0.0:  # the lip of a jump from behind: a wall
            s.u[k] = 0.0
            s.v[k] = 0.0
            return
        if old == 0:
            s.lap[k] -= 1
        s.piece[k] = new
        s.lane[k] = lane
        s.kind[k] = int(p.track[new, lane, KIND])
        s.u[k] += p.track[new, lane, LENGTH]


@kernel
def take_off(s, p, k, theta, height, lip):
    """The wheels leave the road: the front first, so that the weight tips the nose down until the rear follows."""
    speed = s.v[k]
    s.airborne[k] = 1
    s.launch[k] = s.kind[k]
    s.z[k] = height
    sine, cosine = sincos(theta)
    s.v[k] = speed * cosine
    s.vz[k] = speed * sine
    s.y[k] = 0.0
    s.vy[k] = 0.0
    s.roll[k] = 0.0
    s.roll_rate[k] = 0.0
    s.pitch[k] = theta
    arm = s.car[k, CG_REAR]
    gyration = s.car[k, PITCH_INERTIA] / s.car[k, MASS]
    passing = min(s.car[k, WHEELBASE] / max(abs(speed), 0.1), 0.2)
    rate = GRAVITY * arm / (gyration + arm * arm) * passing
    drag = 0.0
    if not lip:
        bend = -p.track[s.piece[k], s.lane[k], CURVE] * abs(speed)
        rate = min(rate, max(bend, 0.0))
        drag = s.car[k, BRAKE] * GRAVITY * s.car[k, CG_HEIGHT] / gyration * passing
    s.pitch_rate[k] = -rate - drag


@kernel
def fly(s, p, k, force):
    """One substep in the air: ballistic flight, wheels spinning freely, drift out of the lane above the fence."""
    mass, radius = s.car[k, MASS], 0.5 * s.car[k, TYRE]
    turning = (s.car[k, ROTOR] * s.car[k, GEAR] * s.car[k, GEAR] + s.car[k, WHEELS]) / (radius * radius)
    spin = force / turning * DT
    s.w[k] += spin
    s.pitch_rate[k] += s.car[k, WHEELS] / (radius * s.car[k, PITCH_INERTIA]) * spin
    s.pitch[k] += s.pitch_rate[k] * DT
    s.z[k] += (s.vz[k] - 0.5 * GRAVITY * DT) * DT
    s.vz[k] -= GRAVITY * DT
    piece, lane = s.piece[k], s.lane[k]
    slope = p.track[piece, lane, THETA] + p.track[piece, lane, CURVE] * s.u[k]
    s.u[k] += s.v[k] * DT / cos(slope)
    s.vy[k] -= s.v[k] * s.v[k] * p.track[piece, lane, KAPPA] * DT
    s.y[k] += s.vy[k] * DT
    cross_pieces(s, p, k)
    piece, lane = s.piece[k], s.lane[k]
    clearance = s.z[k] - height_at(p, piece, lane, s.u[k])
    margin = 0.5 * max(LANE_WIDTH - s.car[k, WIDTH], 0.0)
    if clearance < s.car[k, FENCE]:
        if abs(s.y[k]) > 2.0 * margin:  # came down on or beyond the fence
            leave(s, k, True, AT_LANDING)
            return
        if abs(s.y[k]) > margin:
            s.y[k] = math.copysign(margin, s.y[k])
            s.vy[k] = 0.0
    theta = p.track[piece, lane, THETA] + p.track[piece, lane, CURVE] * s.u[k]
    # The lower axle touches first; at too steep an angle to the road the car turns over.
    tilt = s.pitch[k] - theta
    arm = s.car[k, CG_REAR] if tilt > 0.0 else s.car[k, WHEELBASE] - s.car[k, CG_REAR]
    if clearance < arm * sin(min(abs(tilt), 1.5)):
        if abs(tilt) > s.car[k, LANDING_PITCH] * math.pi / 180.0:
            leave(s, k, True, AT_LANDING)
            return
        s.pitch[k] = theta + math.copysign(max(clearance, 0.0) / arm, tilt)
        s.pitch_rate[k] = 0.0
    if clearance > 0.0:
        return
    sine, cosine = sincos(theta)
    into = s.v[k] * sine - s.vz[k] * cosine  # speed into the road
    if into < 0.0:
        return
    along = s.v[k] * cosine + s.vz[k] * sine
    s.knock_z[k] = (1.0 + s.car[k, RESTITUTION]) * into / LANDING_TIME
    s.knock_z_left[k] = LANDING_TIME
    # Tyres and road seek one speed; friction allows an impulse in proportion to that of the landing.
    wanted = turning * mass / (turning + mass) * (s.w[k] - along)
    most = s.car[k, GRIP] * mass * (1.0 + s.car[k, RESTITUTION]) * into
    impulse = min(max(wanted, -most), most)
    along += impulse / mass
    s.w[k] -= impulse / turning
    lost = s.car[k, LANDING_DRAG] * into
    along = math.copysign(max(abs(along) - lost, 0.0), along)
    back = s.car[k, RESTITUTION] * into
    s.z[k] = height_at(p, piece, lane, s.u[k])
    s.pitch[k] = theta
    s.pitch_rate[k] = 0.0
    if back > SETTLES:
        s.v[k] = along * cosine - back * sine
        s.vz[k] = along * sine + back * cosine
    else:
        s.airborne[k] = 0
        s.v[k] = along
        s.vz[k] = 0.0


@kernel
def roll_outwards(s, k, lateral, normal):
    """Roll about the outer wheels: the rollers hold the car below its centre of gravity (accelerations in m/s2).

    `lateral` is signed, positive in a left turn. Quasi-static limit: lateral * roller_offset = normal * tread / 2.
    """
    half = 0.5 * s.car[k, TREAD]
    offset = s.car[k, ROLLER_OFFSET]
    roll = s.roll[k]
    if roll == 0.0:
        excess = abs(lateral) * offset - normal * half
        if excess <= 0.0:
            return
        side = 1.0 if lateral > 0.0 else -1.0
    else:
        side = 1.0 if roll > 0.0 else -1.0
        size = abs(roll)
        excess = side * lateral * (offset + half * size) - normal * (half - s.car[k, CG_HEIGHT] * size)
    s.roll_rate[k] += side * excess * s.car[k, MASS] / s.car[k, ROLL_INERTIA] * DT
    s.roll[k] = roll + s.roll_rate[k] * DT
    if s.roll[k] * side <= 0.0:
        s.roll[k] = 0.0
        s.roll_rate[k] = 0.0
    elif abs(s.roll[k]) > ROLL_OUT:
        leave(s, k, False, IN_CORNER)


@kernel
def roll_on(s, p, k, force):
    """One substep on the road; returns specific force (x, y, z) and rates (pitch nose down, yaw) of the car's frame."""
    piece, lane = s.piece[k], s.lane[k]
    v, w = s.v[k], s.w[k]
    curve = p.track[piece, lane, CURVE]
    kappa = p.track[piece, lane, KAPPA]
    theta = p.track[piece, lane, THETA] + curve * s.u[k]
    square = theta * theta
    sine = theta * (1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)))
    cosine = 1.0 - square * (0.5 - square * (1.0 / 24.0 - square / 720.0))
    cant = p.track[piece, lane, CANT]
    bend = v * v * abs(kappa)
    normal = GRAVITY * cosine + v * v * curve
    outward = bend
    if cant != 0.0:
        across, upright = sincos(cant)
        normal = GRAVITY * cosine * upright + v * v * curve + bend * across
        outward = bend * upright - GRAVITY * cosine * across
    if normal <= 0.0:
        take_off(s, p, k, theta, height_at(p, piece, lane, s.u[k]), False)
        return 0.0, 0.0, 0.0, 0.0, 0.0
    mass, radius = s.car[k, MASS], 0.5 * s.car[k, TYRE]
    turning = (s.car[k, ROTOR] * s.car[k, GEAR] * s.car[k, GEAR] + s.car[k, WHEELS]) / (radius * radius)
    resistance = mass * (s.car[k, ROLLING] * normal + s.car[k, ROLLER_DRAG] * abs(outward)) + s.car[
        k, SPEED_DRAG
    ] * abs(v)
    if curve != 0.0:
        resistance += mass * s.car[k, BRAKE] * BRAKE_SHARE * normal
    outside = -mass * GRAVITY * sine - resistance * soft_sign(v)
    limit = s.car[k, GRIP] * normal * mass
    slip = w - v
    if slip == 0.0:
        pull = (force + outside) / (mass + turning)
        grip = force - turning * pull
        if abs(grip) <= limit:
            v_new = v + pull * DT
            w_new = v_new
        else:
            grip = math.copysign(limit, grip)
            v_new = v + (outside + grip) / mass * DT
            w_new = w + (force - grip) / turning * DT
    else:
        grip = math.copysign(limit, slip)
        v_new = v + (outside + grip) / mass * DT
        w_new = w + (force - grip) / turning * DT
        if (w_new - v_new) * slip <= 0.0:
            v_new = (mass * v_new + turning * w_new) / (mass + turning)
            w_new = v_new
    s.v[k] = v_new
    s.w[k] = w_new
    s.u[k] += 0.5 * (v + v_new) * DT
    lateral = outward if kappa >= 0.0 else -outward
    if s.roll[k] != 0.0 or outward * s.car[k, ROLLER_OFFSET] > 0.5 * normal * s.car[k, TREAD]:
        roll_outwards(s, k, lateral, normal)
    if s.u[k] < 0.0 or s.u[k] >= p.track[piece, lane, LENGTH]:
        cross_pieces(s, p, k)
    return (v_new - v) / DT + GRAVITY * sine, lateral, normal, -v * curve, v * kappa


@kernel
def arrive(s, k):
    """The oldest command under way becomes the one that the car obeys."""
    s.duty[k] = s.coming_duty[k, 0]
    s.mode[k] = s.coming_mode[k, 0]
    s.silence[k] = 0.0
    last = s.under_way[k] - 1
    for i in range(last):
        s.acts_at[k, i] = s.acts_at[k, i + 1]
        s.coming_duty[k, i] = s.coming_duty[k, i + 1]
        s.coming_mode[k, i] = s.coming_mode[k, i + 1]
    s.acts_at[k, last] = 0.0
    s.coming_duty[k, last] = 0.0
    s.coming_mode[k, last] = 0
    s.under_way[k] = last


@kernel
def send(s, k, duty, mode):
    """A command sets out for car `k`: it acts after the car's delay, behind those that were sent before.

    `duty` in [-1, 1], `mode` an index into `MODES`. There is room for all that are under way if one is sent a control step; a
    controller's replica whose clock stood still while it was off the course may send more: the oldest then acts at once.
    """
    if s.under_way[k] == s.acts_at.shape[1]:
        arrive(s, k)
    at = s.under_way[k]
    s.acts_at[k, at] = s.clock[k] + s.sensor[k, ACTION_DELAY]
    s.coming_duty[k, at] = duty
    s.coming_mode[k, at] = mode
    s.under_way[k] = at + 1


@kernel
def listen(s, k):
    """Commands act from the substep whose beginning is nearest to their time; a car that hears none for too long brakes."""
    s.silence[k] += DT
    while s.under_way[k] > 0 and s.acts_at[k, 0] < s.clock[k] + 0.5 * DT:
        arrive(s, k)
    if s.silence[k] > s.sensor[k, LINK_TIMEOUT] - 1e-9:
        s.duty[k] = 0.0
        s.mode[k] = BRAKING


@kernel
def drive(s, p, k, substeps):
    """Drives car `k` for `substeps` milliseconds by the commands that reach it; stops early when it leaves the course."""
    for _ in range(substeps):
        listen(s, k)
        now_duty, now_mode = obey(s, k)
        force, current, drawn = motor(s, k, s.w[k], now_duty, now_mode)
        supply = s.car[k, VOLTAGE] - s.car[k, VOLTAGE_DROP] * s.charge[k]
        s.charge[k] += drawn * DT
        s.energy[k] += supply * drawn * DT
        s.current[k] = current
        s.bus[k] = supply - (s.car[k, BATTERY_R] + s.car[k, WIRING_R]) * drawn
        if s.airborne[k] != 0:
            fly(s, p, k, force)
            ax = ay = az = yaw = 0.0
            nose_down = -s.pitch_rate[k]
        else:
            ax, ay, az, nose_down, yaw = roll_on(s, p, k, force)
        if s.knock_z_left[k] > 0.0:
            s.knock_z_left[k] -= DT
            az += s.knock_z[k]
        if s.knock_y_left[k] > 0.0:
            s.knock_y_left[k] -= DT
            ay += s.knock_y[k]
        filter_samples(s, k, ax, ay, az, s.roll_rate[k], nose_down, yaw)
        s.turned[k] += s.w[k] * DT
        if p.tachometer != 0:
            count_pulses(s, k)
        s.clock[k] += DT
        s.tick[k] += 1
        if s.tick[k] >= p.sample_every:
            s.tick[k] = 0
            take_sample(s, p, k)
        if abs(s.v[k]) < CRAWL and s.airborne[k] == 0:
            s.still[k] += DT
        else:
            s.still[k] = 0.0
        if s.cause[k] != RUNNING:
            break
    if s.airborne[k] == 0:
        piece, lane = s.piece[k], s.lane[k]
        s.z[k] = height_at(p, piece, lane, s.u[k])
        s.pitch[k] = p.track[piece, lane, THETA] + p.track[piece, lane, CURVE] * s.u[k]
    measure_progress(s, p, k)


@kernel
def total_energy(s, p, k):
    """Kinetic and potential energy of the car, J."""
    mass, radius = s.car[k, MASS], 0.5 * s.car[k, TYRE]
    turning = (s.car[k, ROTOR] * s.car[k, GEAR] * s.car[k, GEAR] + s.car[k, WHEELS]) / (radius * radius)
    height = s.z[k] if s.airborne[k] != 0 else height_at(p, s.piece[k], s.lane[k], s.u[k])
    speeds = s.v[k] * s.v[k] + (s.vz[k] * s.vz[k] if s.airborne[k] != 0 else 0.0)
    return 0.5 * mass * speeds + 0.5 * turning * s.w[k] * s.w[k] + mass * GRAVITY * height
