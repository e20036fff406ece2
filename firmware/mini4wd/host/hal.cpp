// The board as a library for tests: what the portable part of the program (frame, link, motor, imu) asks of a board, kept in
// variables that a test sets and reads (ctypes). Time moves only when `host_tick` says so.
#include <string.h>
#include <unistd.h>  // as the ESP32's board includes it: no name of the program may be one of POSIX

#include "../src/bridge.h"
#include "../src/clock.h"
#include "../src/imu.h"
#include "../src/inputs.h"
#include "../src/link.h"
#include "../src/motor.h"
#include "../src/twi.h"
#include "../src/uart.h"

namespace {

uint32_t now_ms = 0;
uint8_t received[4096], sent[4096];
size_t received_from = 0, received_count = 0, sent_count = 0;
uint8_t registers[128];
uint8_t sensor_address = 0;  // 0: no sensor on the bus
uint16_t millivolts = 3000, pulses = 0;
uint32_t pulse_us = 0;
uint8_t pins_mode = 255;
uint16_t pins_duty = 0;

}  // namespace

namespace car_clock {
void begin() {}
uint32_t milliseconds() { return now_ms; }
uint32_t microseconds() { return now_ms * 1000; }
}  // namespace car_clock

namespace uart {
void begin() {}
bool read(uint8_t& byte) {
  if (received_from == received_count) return false;
  byte = received[received_from++];
  return true;
}
uint8_t room() { return sizeof sent - sent_count > 255 ? 255 : sizeof sent - sent_count; }
void write(uint8_t byte) { sent[sent_count++] = byte; }
}  // namespace uart

namespace twi {
void begin() {}
bool write_register(uint8_t address, uint8_t reg, uint8_t value) {
  if (address != sensor_address) return false;
  registers[reg] = value;
  return true;
}
bool read_registers(uint8_t address, uint8_t reg, uint8_t* out, uint8_t count) {
  if (address != sensor_address) return false;
  memcpy(out, registers + reg, count);
  return true;
}
}  // namespace twi

namespace inputs {
void begin() {}
uint16_t battery_millivolts() { return millivolts; }
Tachometer tachometer() { return {pulses, pulse_us}; }
}  // namespace inputs

namespace bridge {
void begin() { drive(motor::kBrake, 0); }
void drive(motor::Mode mode, uint16_t duty) { pins_mode = mode, pins_duty = duty; }
}  // namespace bridge

extern "C" {

void host_begin(uint8_t cause) {
  motor::begin();
  car_link::begin(cause);
  imu::begin();
}

// The main loop's turn after a millisecond; `report` as the telemetry period comes round.
void host_tick(bool report) {
  ++now_ms;
  motor::every_millisecond();
  car_link::receive();
  if (report) car_link::send_telemetry();
}

void host_receive(const uint8_t* bytes, size_t count) {
  received_from = 0;
  received_count = count < sizeof received ? count : sizeof received;
  memcpy(received, bytes, received_count);
}

size_t host_sent(uint8_t* out) {
  const size_t count = sent_count;
  memcpy(out, sent, count);
  sent_count = 0;
  return count;
}

void host_sensor(uint8_t address, uint8_t first, const uint8_t* bytes, size_t count) {
  sensor_address = address;
  memcpy(registers + first, bytes, count);
}

uint8_t host_register(uint8_t reg) { return registers[reg]; }

void host_inputs(uint16_t battery, uint16_t count, uint32_t at_us) { millivolts = battery, pulses = count, pulse_us = at_us; }

uint8_t host_mode() { return pins_mode; }
uint16_t host_duty() { return pins_duty; }
}
