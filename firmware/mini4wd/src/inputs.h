// The motor battery's voltage on A0 (directly: two AA cells stay below 5 V) and an optional tachometer on D2.
#pragma once
#include <stdint.h>

namespace inputs {

void begin();
uint16_t battery_millivolts();    // of the last conversion

struct Tachometer {
  uint16_t pulses;   // rising edges since start, counts around
  uint32_t last_us;  // when the last of them came, by the car's clock
};
Tachometer tachometer();

}  // namespace inputs
