// A block that no interrupt comes into: the port's own where there are interrupts, a plain block where there are none.
#pragma once

#ifdef __AVR__
#include <util/atomic.h>
#define ATOMIC ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
#elif defined(ESP_PLATFORM)
#include "esp32_atomic.h"
#else
#define ATOMIC
#endif
