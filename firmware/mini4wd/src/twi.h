// I2C master at 400 kHz. Every wait is bounded: a sensor that hangs cannot hang the car.
#pragma once
#include <stdint.h>

namespace twi {

void begin();
bool write_register(uint8_t address, uint8_t reg, uint8_t value);
bool read_registers(uint8_t address, uint8_t reg, uint8_t* out, uint8_t count);

}  // namespace twi
