// The motor behind an H-bridge with two inputs (DRV8833, DRV8837 and their kind): IN1 on D9 (OC1A), IN2 on D10 (OC1B).
//
//   IN1 IN2
//    0   0   free: the motor turns freely
//    1   0   forward
//    0   1   reverse
//    1   1   short-brake: the motor's terminals are connected
//
// A duty below one alternates between driving and short-brake at 20 kHz, so that the mean voltage is proportional to it.
#pragma once
#include <stdint.h>

namespace motor {

enum Mode : uint8_t { kBrake = 0, kForward = 1, kReverse = 2, kFree = 3 };

constexpr uint16_t kFullDuty = 32767;
constexpr uint16_t kMaximumDuty = kFullDuty;  // lower it to clamp every car that runs this program
constexpr uint8_t kLinkTimeoutMs = 200;       // without a valid command: short-brake
constexpr uint8_t kReverseLimitMs = 100;      // longest reverse pulse

void begin();

// A valid command: restarts the link watchdog.
void command(Mode mode, uint16_t duty);

// Short-brake until the next command.
void brake();

// Called by the clock's interrupt.
void every_millisecond();

struct State {
  Mode mode;
  uint16_t duty;
  bool link_timed_out;
  bool reverse_limited;
};
State state();

}  // namespace motor
