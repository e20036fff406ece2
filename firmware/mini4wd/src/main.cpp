// Mini 4WD controller for ATmega328P at 16 MHz and 5 V (Arduino Nano, Pro Mini). See ../README.md for the wiring.
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>

#include "clock.h"
#include "imu.h"
#include "inputs.h"
#include "link.h"
#include "motor.h"
#include "profile.h"
#include "uart.h"

int main() {
  const uint8_t reset_cause = MCUSR;
  MCUSR = 0;
  wdt_enable(WDTO_120MS);  // a program that hangs restarts, and a restart brakes
  motor::begin();
  uart::begin();
  car_clock::begin();
  inputs::begin();
  car_link::begin(reset_cause);
  set_sleep_mode(SLEEP_MODE_IDLE);
  sei();
  imu::begin();

  uint32_t next = car_clock::milliseconds();
  for (;;) {
    wdt_reset();
    car_link::receive();
    if (static_cast<int32_t>(car_clock::milliseconds() - next) >= 0) {
      next += profile::kTelemetryPeriodMs;
      car_link::send_telemetry();
    }
    sleep_mode();  // until the next interrupt: the clock's comes within a millisecond
  }
}
