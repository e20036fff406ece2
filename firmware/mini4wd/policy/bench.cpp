// Runs the policy on the chip for whoever sends it inputs: policy_inputs() bytes in; policy_outputs() words out and the time
// of the step in units of 4 us, 16 bits each, little-endian, over the serial port.
#include <avr/interrupt.h>
#include <avr/io.h>

#include "../src/uart.h"
#include "policy.h"

namespace {

int8_t input[512];

uint8_t next_byte() {
  uint8_t byte;
  while (!uart::read(byte)) {
  }
  return byte;
}

void word(uint16_t value) {
  while (uart::room() < 2) {
  }
  uart::write(value & 0xFF);
  uart::write(value >> 8);
}

}  // namespace

int main() {
  uart::begin();
  TCCR1A = 0;
  TCCR1B = _BV(CS11) | _BV(CS10);  // 16 MHz / 64
  sei();
  int16_t output[8];
  for (;;) {
    for (uint16_t i = 0; i < policy_inputs(); ++i) input[i] = static_cast<int8_t>(next_byte());
    TCNT1 = 0;
    policy_step(input, output);
    const uint16_t ticks = TCNT1;
    for (uint8_t j = 0; j < policy_outputs(); ++j) word(output[j]);
    word(ticks);
  }
}
