#include "inputs.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "clock.h"

namespace {

constexpr uint32_t kSupplyMillivolts = 5000;
volatile uint16_t pulses = 0;
volatile uint32_t last_us = 0;

}  // namespace

ISR(INT0_vect) {
  ++pulses;
  last_us = car_clock::microseconds();
}

namespace inputs {

void begin() {
  ADMUX = _BV(REFS0);                                                        // A0 against the supply
  ADCSRB = 0;                                                                // one conversion after the other, 0.1 ms each
  ADCSRA = _BV(ADEN) | _BV(ADSC) | _BV(ADATE) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0);  // 125 kHz
  PORTD |= _BV(PD2);                                                         // pull-up for an open collector
  EICRA = _BV(ISC01) | _BV(ISC00);
  EIMSK = _BV(INT0);
}

uint16_t battery_millivolts() {
  return (static_cast<uint32_t>(ADC) * kSupplyMillivolts + 512) / 1024;
}

Tachometer tachometer() {
  Tachometer now;
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) { now = {pulses, last_us}; }
  return now;
}

}  // namespace inputs
