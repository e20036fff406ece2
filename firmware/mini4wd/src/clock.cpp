#include "clock.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "motor.h"

namespace {

constexpr uint8_t kTicks = 250;  // 16 MHz / 64 / 250 = 1 kHz, 4 us a tick
volatile uint32_t now_ms = 0;

}  // namespace

// The motor's limits are kept here, so that they hold even while the main loop waits for the sensor.
ISR(TIMER0_COMPA_vect) {
  ++now_ms;
  motor::every_millisecond();
}

namespace car_clock {

void begin() {
  TCCR0A = _BV(WGM01);
  TCCR0B = _BV(CS01) | _BV(CS00);
  OCR0A = kTicks - 1;
  TIMSK0 = _BV(OCIE0A);
}

uint32_t milliseconds() {
  uint32_t ms;
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) { ms = now_ms; }
  return ms;
}

uint32_t microseconds() {
  uint32_t ms;
  uint8_t ticks;
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
    ms = now_ms;
    ticks = TCNT0;
    // The timer may have wrapped while interrupts were off.
    if ((TIFR0 & _BV(OCF0A)) && ticks < kTicks / 2) ++ms;
  }
  return ms * 1000 + ticks * 4;
}

}  // namespace car_clock
