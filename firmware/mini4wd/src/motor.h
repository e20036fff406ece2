// The motor: what it is told, within the limits that stand above every command. The pins are `bridge`'s.
#pragma once
#include <stdint.h>

namespace motor {

enum Mode : uint8_t { kBrake = 0, kForward = 1, kReverse = 2, kFree = 3 };

constexpr uint16_t kFullDuty = 32767;

void begin();

// A valid command: restarts the link watchdog.
void command(Mode mode, uint16_t duty);

// Short-brake until the next command.
void brake();

// The motor battery's voltage, measured every telemetry period: short-brake for good once it has been low for too long.
void watch_battery(uint16_t millivolts);

// Called by the clock's interrupt.
void every_millisecond();

struct State {
  Mode mode;
  uint16_t duty;
  bool link_timed_out;
  bool reverse_limited;
  bool battery_low;
};
State state();

}  // namespace motor
