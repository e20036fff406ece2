// The motor battery's voltage on A0 (directly: two AA cells stay below 5 V) and an optional tachometer on D2.
#pragma once
#include <stdint.h>

namespace inputs {

void begin();
uint16_t battery_millivolts();    // of the last conversion; starts the next
uint16_t tachometer_pulses();     // rising edges since start, counts around

}  // namespace inputs
