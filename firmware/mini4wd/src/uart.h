// The serial port, interrupt-driven in both directions.
#pragma once
#include <stdint.h>

namespace uart {

void begin();
bool read(uint8_t& byte);
uint8_t room();  // bytes that can be written without waiting
void write(uint8_t byte);

}  // namespace uart
