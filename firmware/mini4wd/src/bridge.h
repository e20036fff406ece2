// The H-bridge with two inputs (DRV8212P and its kind): IN1 on D9 (OC1A), IN2 on D10 (OC1B) of an ATmega328P. A DRV8850 has
// four: with inverters before two of them, as docs/mini4wd/build.md has it, all is as below except that "free" brakes, too.
//
//   IN1 IN2
//    0   0   free: the motor turns freely
//    1   0   forward
//    0   1   reverse
//    1   1   short-brake: the motor's terminals are connected
//
// A duty below one alternates at 20 kHz between driving and, as the profile says, short-brake (so that the mean voltage is
// proportional to it) or free.
#pragma once
#include <stdint.h>

#include "motor.h"

namespace bridge {

void begin();  // short-brake
void drive(motor::Mode mode, uint16_t duty);

}  // namespace bridge
