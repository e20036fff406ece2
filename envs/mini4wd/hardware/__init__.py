"""A real mini 4WD behind the same API: `gymnasium.make("asobiba/Mini4WDHardware-v1", backend="/dev/ttyUSB0")`.

* `env`: the environment. `monitor`: the progress of a run without a simulator. `limits`: the host's safety limits.
* `codec`: the two wire protocols. `transport`: ports and clocks. `link`: numbered commands, the newest frame, losses.
* `runlog`: the log of every byte, and its replay. `keys`: the human stop key.
* `program`, `body`: the simulated car at the other end of the wire. `emulation`: the car's own program on an emulated
  chip. `check`: the quality of a link and of the sensors. `identify`: the car file from a recorded run.

Needs `pip install 'asobiba[hil]'`. The car's program, its wiring and its limits are in `firmware/mini4wd`.
"""
