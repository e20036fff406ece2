// Time since start: Timer 0 ticks once a millisecond.
#pragma once
#include <stdint.h>

namespace car_clock {

void begin();
uint32_t milliseconds();
uint32_t microseconds();

}  // namespace car_clock
