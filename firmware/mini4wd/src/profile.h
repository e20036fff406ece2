// What the profile atmega328p says (ATmega328P at 16 MHz, MPU-6050, 115200 baud).
// Written by `asobiba hil firmware-profile atmega328p`; change the profile, not this file.
#pragma once
#include <stdint.h>

namespace profile {

constexpr uint32_t kBaud = 115200;  // bits per second of the serial port
constexpr uint8_t kTelemetryPeriodMs = 10;  // between two telemetry frames
constexpr uint16_t kImuHz = 200;  // own rate of the inertial sensor
constexpr uint16_t kImuBandwidthHz = 94;  // its low-pass filter
constexpr uint8_t kLinkTimeoutMs = 200;  // without a valid command: short-brake
constexpr uint8_t kReverseLimitMs = 100;  // longest reverse pulse
constexpr uint16_t kBatteryLimitMv = 1600;  // below it for so long: short-brake for good
constexpr uint16_t kLowBatteryMs = 500;  // the battery may be below its limit for so long
constexpr uint16_t kBatteryGraceMs = 2000;  // after a standing start for so long besides
constexpr uint16_t kStandingMs = 1000;  // a motor not driven for so long starts a standing car
constexpr uint16_t kMaximumDuty = 32767;  // of 32767; lower it to clamp the car itself
constexpr bool kSlowDecay = true;  // between pulses: short-brake, or free
constexpr bool kAcknowledges = true;  // whether telemetry says which command is obeyed

}  // namespace profile
