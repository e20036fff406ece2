#include "motor.h"

#include <avr/io.h>
#include <util/atomic.h>

namespace {

constexpr uint16_t kTop = 799;  // 16 MHz / 800 = 20 kHz
constexpr uint8_t kIn1 = _BV(PB1);
constexpr uint8_t kIn2 = _BV(PB2);

motor::Mode mode = motor::kBrake;
uint16_t duty = 0;
uint8_t silence_ms = 0;
uint8_t reverse_ms = 0;
bool timed_out = true;
bool reverse_limited = false;

// Pins follow the port register unless the timer drives them; a timer cannot hold a pin still without a spike.
void hold(uint8_t port) {
  TCCR1A = _BV(WGM11);
  PORTB = port;
}

// Drives with the inputs of `port`; the timer raises the other input, which brakes, for a share of every period.
void pulse(uint8_t port, volatile uint16_t& compare, uint8_t output) {
  const uint16_t braking = kTop + 1 - static_cast<uint16_t>((static_cast<uint32_t>(kTop + 1) * duty) / motor::kFullDuty);
  if (braking == 0) {
    hold(port);
  } else if (braking > kTop) {
    hold(port | kIn1 | kIn2);
  } else {
    PORTB = port;
    compare = braking - 1;
    TCCR1A = _BV(WGM11) | output;
  }
}

void drive(motor::Mode new_mode, uint16_t new_duty) {
  mode = new_mode;
  duty = new_duty;
  const uint8_t others = PORTB & ~(kIn1 | kIn2);
  switch (mode) {
    case motor::kForward:
      pulse(others | kIn1, OCR1B, _BV(COM1B1));
      break;
    case motor::kReverse:
      pulse(others | kIn2, OCR1A, _BV(COM1A1));
      break;
    case motor::kFree:
      hold(others);
      break;
    default:
      hold(others | kIn1 | kIn2);
      break;
  }
}

}  // namespace

namespace motor {

void begin() {
  ICR1 = kTop;
  TCCR1B = _BV(WGM13) | _BV(WGM12) | _BV(CS10);  // fast PWM up to ICR1, no prescaler
  drive(kBrake, 0);
  DDRB |= kIn1 | kIn2;
}

void command(Mode new_mode, uint16_t new_duty) {
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
    silence_ms = 0;
    timed_out = false;
    if (new_duty > kMaximumDuty) new_duty = kMaximumDuty;
    if (new_mode != kReverse) {
      reverse_ms = 0;
      reverse_limited = false;
    }
    if (new_mode > kFree || reverse_limited) {
      drive(kBrake, 0);
    } else {
      drive(new_mode, new_mode == kForward || new_mode == kReverse ? new_duty : 0);
    }
  }
}

void brake() {
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
    drive(kBrake, 0);
    timed_out = true;
  }
}

void every_millisecond() {
  if (!timed_out && ++silence_ms >= kLinkTimeoutMs) {
    drive(kBrake, 0);
    timed_out = true;
  }
  if (mode == kReverse && ++reverse_ms >= kReverseLimitMs) {
    drive(kBrake, 0);
    reverse_limited = true;
  }
}

State state() {
  State now;
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) { now = {mode, duty, timed_out, reverse_limited}; }
  return now;
}

}  // namespace motor
