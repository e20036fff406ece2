#include "motor.h"

#include "atomic.h"
#include "bridge.h"
#include "profile.h"

namespace {

motor::Mode mode = motor::kBrake;
uint16_t duty = 0;
uint8_t silence_ms = 0;
uint8_t reverse_ms = 0;
uint16_t low_ms = 0;
uint16_t idle_ms = profile::kStandingMs;
uint16_t driven_ms = 0;
bool timed_out = true;
bool reverse_limited = false;
bool battery_low = false;

void drive(motor::Mode new_mode, uint16_t new_duty) {
  mode = new_mode;
  duty = new_duty;
  bridge::drive(mode, duty);
}

}  // namespace

namespace motor {

void begin() {
  bridge::begin();
}

void command(Mode new_mode, uint16_t new_duty) {
  ATOMIC {
    silence_ms = 0;
    timed_out = false;
    if (new_duty > profile::kMaximumDuty) new_duty = profile::kMaximumDuty;
    if (new_mode != kReverse) {
      reverse_ms = 0;
      reverse_limited = false;
    }
    if (new_mode > kFree || reverse_limited || battery_low) {
      drive(kBrake, 0);
    } else {
      drive(new_mode, new_mode == kForward || new_mode == kReverse ? new_duty : 0);
    }
  }
}

void brake() {
  ATOMIC {
    drive(kBrake, 0);
    timed_out = true;
  }
}

void watch_battery(uint16_t millivolts) {
  uint16_t driven;
  ATOMIC { driven = driven_ms; }
  if (millivolts >= profile::kBatteryLimitMv || driven < profile::kBatteryGraceMs) {
    low_ms = 0;
    return;
  }
  low_ms += profile::kTelemetryPeriodMs;
  if (low_ms <= profile::kLowBatteryMs || battery_low) return;
  ATOMIC {
    battery_low = true;
    drive(kBrake, 0);
  }
}

void every_millisecond() {
  if (duty != 0) {
    if (idle_ms >= profile::kStandingMs) driven_ms = 0;  // a standing car starts
    idle_ms = 0;
    if (driven_ms < profile::kBatteryGraceMs) ++driven_ms;
  } else if (idle_ms < profile::kStandingMs) {
    ++idle_ms;
  }
  if (!timed_out && ++silence_ms >= profile::kLinkTimeoutMs) {
    drive(kBrake, 0);
    timed_out = true;
  }
  if (mode == kReverse && ++reverse_ms >= profile::kReverseLimitMs) {
    drive(kBrake, 0);
    reverse_limited = true;
  }
}

State state() {
  State now;
  ATOMIC { now = {mode, duty, timed_out, reverse_limited, battery_low}; }
  return now;
}

}  // namespace motor
