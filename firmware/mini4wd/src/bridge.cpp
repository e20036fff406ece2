#include "bridge.h"

#include <avr/io.h>

#include "profile.h"

namespace {

constexpr uint16_t kTop = 799;  // 16 MHz / 800 = 20 kHz
constexpr uint8_t kIn1 = _BV(PB1);
constexpr uint8_t kIn2 = _BV(PB2);

// Pins follow the port register unless the timer drives them; a timer cannot hold a pin still without a spike.
void hold(uint8_t port) {
  TCCR1A = _BV(WGM11);
  PORTB = port;
}

// Drives with the inputs of `port`; the timer raises the other input, which brakes, for a share of every period.
void pulse_and_brake(uint16_t duty, uint8_t port, volatile uint16_t& compare, uint8_t output) {
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

// Both inputs low but for the share of every period in which the timer raises the driving one.
void pulse_and_free(uint16_t duty, uint8_t others, uint8_t input, volatile uint16_t& compare, uint8_t output) {
  const uint16_t driving = static_cast<uint16_t>((static_cast<uint32_t>(kTop + 1) * duty) / motor::kFullDuty);
  if (driving == 0) {
    hold(others);
  } else if (driving > kTop) {
    hold(others | input);
  } else {
    PORTB = others;
    compare = driving - 1;
    TCCR1A = _BV(WGM11) | output;
  }
}

}  // namespace

namespace bridge {

void begin() {
  ICR1 = kTop;
  TCCR1B = _BV(WGM13) | _BV(WGM12) | _BV(CS10);  // fast PWM up to ICR1, no prescaler
  drive(motor::kBrake, 0);
  DDRB |= kIn1 | kIn2;
}

void drive(motor::Mode mode, uint16_t duty) {
  const uint8_t others = PORTB & ~(kIn1 | kIn2);
  switch (mode) {
    case motor::kForward:
      if (profile::kSlowDecay) pulse_and_brake(duty, others | kIn1, OCR1B, _BV(COM1B1));
      else pulse_and_free(duty, others, kIn1, OCR1A, _BV(COM1A1));
      break;
    case motor::kReverse:
      if (profile::kSlowDecay) pulse_and_brake(duty, others | kIn2, OCR1A, _BV(COM1A1));
      else pulse_and_free(duty, others, kIn2, OCR1B, _BV(COM1B1));
      break;
    case motor::kFree:
      hold(others);
      break;
    default:
      hold(others | kIn1 | kIn2);
      break;
  }
}

}  // namespace bridge
