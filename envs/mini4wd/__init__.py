"""Mini 4WD (ミニ四駆): a battery car between the fences of its lane, in simulation as on a real one.

## Description

A mini 4WD car has a motor, two AA cells, and no steering: rollers guide it along the fence of its lane. An AI car adds
a microcontroller, an inertial sensor and an H-bridge; it controls only how hard the motor pulls. A car that drives too
fast leaves the course: over the fence of the lane changer's bridge, nose first off a slope, or by climbing a curve's
wall.

This package declares four games on one simulator:

* `mini4wd` (`asobiba/Mini4WD-v4`): time attack, one car, `laps` laps against the clock;
* `mini4wd_discrete` (`asobiba/Mini4WDDiscrete-v4`): the same with discrete actions;
* `mini4wd_position` (`asobiba/Mini4WDPosition-v4`): drive to a mark and stop there;
* `mini4wd_race` (`asobiba/Mini4WDRace-v4`): two cars in separate lanes, both acting at once
  (`pettingzoo.make("parallel", "asobiba/mini4wd_race-v4")`).

The simulator: 1 ms substeps; motor with back-EMF, gear friction, the resistance of
winding, H-bridge, wiring and battery; tyres that slip at
their limit of grip; rolling, roller and wall drag; grade, hollows and crests; lift-off, ballistic flight with pitch
(wheels that spin up lift the nose, braked ones drop it), landing test, bounce; roll about the outer wheels in curves.
Every constant of the car stands in `car.CAR_FIELDS`, every one of its electronics in `profile.SENSOR_FIELDS`, with its unit
and legal range. A profile (`profiles/*.yaml`) describes the sensors and commands of a car; the hardware environment,
the car's program and system identification read the same file, so that one policy runs in the simulator and on the car.

The two cars of a race cannot touch: fences separate their lanes, in the lane changer one lane crosses the others on a
bridge, lanes never merge, and a car that comes down outside its lane ends the race. The cars affect each other only by
the contest's rule: a car whose follower comes within 2 m is out.

## Action Space

`Box(-1, 1, (2,))`: duty, and a selector of the drive mode: from 0 up drive (the sign of the duty is the direction), from
-0.5 to 0 short-circuit brake, below -0.5 free. With `actions="duty"` the duty alone. `mini4wd_discrete`: `Discrete(14)`:
free, brake, reverse at duty 1 and 0.5, forward at duty 0.1 to 1.0 (`layout.LEVELS`). A command acts after the profile's
`action_delay` (to a millisecond), behind those sent before it, or is lost. The car's own program may override it: a reverse pulse ends in short-circuit brake after the
profile's `reverse_limit`, and a battery that stays below `battery_limit`
brakes the car for good, but not in the first seconds of a standing start (`battery_grace`). Between the pulses of
a duty below 1 the bridge shorts the motor or leaves it free, as `slow_decay` says.

In the race PettingZoo's `agent_selection` goes from the first car to the second in every step; neither sees the other's
action before its own is chosen.

## Observation Space

A flat `float32` vector of what a real car senses, in this order: `imu` (window, 6), the samples of acceleration (g; x
ahead, y left, z up; (0, 0, 1) at rest) and rate (rad/s, right-handed: nose down and left turn are positive), oldest
first; `voltage` (V); `duty` and `mode` selector of the last action; `time` (s); `frame_age` (s), how old the newest
sample is; `actions` (history, 2), newest first; with `tachometer=True` `wheel_speed` (m/s at the tyre, measured from the
pulses of a mark or more a turn, so late, never negative, and 0 only after a while); in the position match `target` (m
from the start). All lie within -64 and 64. The simulator's state is not observed; it stands in `info` (`progress`,
`speed`, `lap`, `lane`, `airborne`, `height`, `pitch`, `roll`, `current`, `energy`, `cause`, `finish_time`).

## Rewards

The reward is the sum of named terms, each of which stands in `info`.

* Time attack: `reward_progress`, the share of the whole distance driven in the step; `reward_finish`, at the finish the
  time at 3 m/s over the time needed; `reward_course_out`, -1 when the car leaves the course or stops for good. The sum
  over a run is the score by which controllers are ranked: a car that leaves the course ends below 0 unless it has
  driven the whole distance, a car that finishes ends above 1.
* Position match: `reward_approach`, 0.1 per metre nearer to the mark; `reward_stop`, at standstill 1 minus the distance
  to the mark in metres, not below -1; `reward_course_out`, -1.
* Race: +1 for the winner, -1 for the loser, `reward_result`.

## Starting State

The car at rest in the middle of the start, in lane `lane` (-1: a random one). Mass, friction, motor, battery and
sensors are drawn for every episode from the ranges that `randomise` names; mounting, scale and bias of the sensors are
always drawn.

## Episode End

The finish (`finish_time`, interpolated within the step); a course-out, with its cause (`lane changer`, `landing`,
`corner`); a stop of `stand_seconds` once the car has moved (`stopped`); in the race also a follower within 2 m (`caught`: the car
in front is out). A race is won by the first to finish, or when the other is out; both out in one step is a draw. The
position match ends when the car has stood for 1 s. Truncation after `max_seconds`.

## State

One row a car in every field but the header and the generator; the last axes are given in brackets.

* On its lane: `piece`, `lane`, `lap` (integers), `kind` and `launch` (index into `course.KINDS`: where it is, and where it
  took off), `u` (m into the piece), `v`, `w` (m/s of car and tyres), `progress` (m along the mean of the lanes),
  `still` (s at standstill), `cause` (index into `physics.CAUSES`), `finish_time` (s, 0: not yet), `clock` (s).
* In the air and leaning: `airborne` (0, 1), `z`, `y` (m), `vz`, `vy` (m/s), `pitch`, `roll` (rad), `pitch_rate`, `roll_rate`
  (rad/s); `knock_z`, `knock_y` (m/s2) and `knock_z_left`, `knock_y_left` (s): impacts still felt.
* Electric: `duty`, `mode` (what the motor is told; index into `physics.MODES`), `current` (A), `bus` (V), `charge` (C), `energy` (J), `reversed`, `low`, `idle`, `driven`,
  `silence` (s: in reverse, below the battery's limit, with the motor off, driven since the start, without a command).
* Commands under way: `under_way` (how many), and for each, the oldest first, `acts_at` (s of the car's clock), `coming_duty`,
  `coming_mode`; 0 in places that are free. There are as many places as commands fit into the longest delay, and one more.
* Sensors: `bias` (6; g, degrees/s), `mix` (2, 3, 3; mounting and scale), `smooth` (share of the low pass in a substep),
  `smoothed` (6; g, degrees/s), `ring` (frames, 9: six axes, V, m/s, turns), `ring_at`, `tick` (ms since the last frame),
  `turned` (m of tyre), `phase`, `mark`, `pulses`, `edge` (pulse, integers, s of the last one), `seen_pulses`, `seen_edge`,
  `measured` (m/s): the tachometer.
* Readings that the car has received: `imu` (window, 6; g, rad/s), `voltage` (V), `wheel_speed` (m/s), `wheel_turns`,
  `frame_age` (s), `actions` (history, 2), `target` (m, position match).
* `car` and `sensor`: the values drawn for this episode, in the order of `car.CAR_FIELDS` and `profile.SENSOR_FIELDS`;
  `cell_speed` (128; m/s): the last speed in each part of a lap, for pictures; the terms of the last reward: `reward_progress`, `reward_finish`,
  `reward_course_out` (time attack), `reward_approach`, `reward_stop` (position match), `reward_result` (race).

## Arguments

`course="junior"`: a shipped course (junior, junior_clockwise, junior_short, junior_hill, junior_bank, home_oval,
competition, jump), `random:SEED`, or the path of a YAML file. `car="stock"`: a shipped car (stock, instrumented, dash, alkaline),
with another motor as in `stock+hyper_dash`, or the path of a YAML file. `laps=3`. `lane=-1`.
`profile="atmega328p"`: a shipped profile (atmega328p, esp32, rt_ai_chip), or the path of a YAML file. `control_ms`: 10, 20
or 50, `imu`: mpu6050, mpu9150, lsm6ds3, lis3dh, kxr94_2050, kxr94_2050_gyro, `sample_ms`, `latency_ms`, `drop_rate`: by
default as in the profile. `actions="duty_mode"`. `window=4`, `history=2`, `tachometer=False`. `randomise="default"`: none,
default, wide, or a YAML file of factors (of car and profile). `max_seconds=30`. `stand_seconds=3`. `progress_weight`, `finish_weight`, `course_out_weight` (time attack),
`approach_weight`, `stop_weight`, `course_out_weight`, `nearest=3`, `farthest=15` (position match), `second_car` (race).

## References

* GAT 2016 (Game AI Tournaments, The University of Electro-Communications), abstracts of mini 4WD AI cars (in Japanese):
  the controllers.
* Tamiya: package data of the motors, regulations, items 69506 (Japan Cup Junior Circuit) and 69539 (Oval Home Circuit).
* Lap times on the Junior Circuit: nomano.shiwaza.com, T-noma, entry 6980 (Normal 7.0 s, Torque-Tuned PRO 5.8 s for
  three laps; Hyper-Dash PRO left the course after the lane changer each time).
* Logs of a running RT AI chip (github.com/KobaTaii/mini4wd-env-recg; it has no licence, so only figures are taken): the
  profile `rt_ai_chip`.
* The contest "AI & mini4WD": position match, race, and the rule for a car being out.
  https://sites.google.com/site/ai4wdcar
* Sensors: data sheets of MPU-6050, MPU-9150, LIS3DH, KXR94-2050, LSM6DS3.
* The height and profile of the lane changer's bridge and of the jump are not published. They are chosen to reproduce
  the published outcomes, with a clearance above 75 mm under the bridge.

## Version History

* v4 (2026-11-25), all four games: commands act after the profile's `action_delay`, in order, as many as may be under way;
  before, they acted at once. A car that hears no command brakes `link_timeout` after the last one reached it.
* v3 (2026-11-24), all four games: the H-bridge has a resistance, another one as it brakes, and a dead time, the wiring a
  resistance; the battery's limit does not count while a standing car starts; a narrower range of the battery's resistance;
  `stand_seconds`.
* v2 (2026-11-23), all four games: elementary functions come from the core, so that every machine gives the same bytes;
  states differ from v1 in the last bits.
* v1 (2026-11-22), all four games: the electronics are a profile (command loss, limits in the car, drive against
  short-brake, frames on a separate time grid); the tachometer counts pulses; `slow_decay` and `action_delay` are the
  profile's, no longer the car's.
* v0 (2026-11-21): first version.
"""

from dataclasses import replace

import numpy as np

from asobiba.api import expose
from asobiba.core import Game, Ruleset
from asobiba.envs.mini4wd import discrete, layout, position, race, rules

_COURSES = ("junior_clockwise", "junior_short", "junior_hill", "junior_bank", "home_oval", "competition", "jump")


def _distance(ruleset: Ruleset, state: np.void) -> list[float]:
    """The distance that each car covered, m."""
    return [float(metres) for metres in state["progress"]]


GAME = Game(
    name="mini4wd",
    version=4,
    title="Mini 4WD",
    layout=layout.time_attack,
    rules=rules,
    players=("driver",),
    information="hidden",
    chance=True,
    utility="single_agent",
    reward_range=(-20.0, 20.0),
    variants={
        **{name: {"course": name} for name in _COURSES},
        "tachometer": {"course": "junior_hill", "car": "dash", "tachometer": True},
    },
    notation="asobiba.envs.mini4wd.notation",
    draw="asobiba.envs.mini4wd.draw",
    evidence="published lap times, deceleration, jump lengths and corner speeds",
)
DISCRETE = replace(
    GAME, name="mini4wd_discrete", title="Mini 4WD, discrete levels", layout=layout.discrete, rules=discrete
)
POSITION = replace(
    GAME, name="mini4wd_position", title="Mini 4WD, position match", layout=layout.position, rules=position
)
RACE = replace(
    GAME,
    name="mini4wd_race",
    title="Mini 4WD, race of two",
    layout=layout.race,
    rules=race,
    players=("first", "second"),
    utility="zero_sum",
    turns="simultaneous",
    reward_range=(-1.0, 1.0),
    tie_break=_distance,
)
env, raw_env, parallel_env = expose(GAME)
