// What the profile esp32 says (ESP32 family, LSM6DS3TR-C, 460800 baud).
// Written by `asobiba hil firmware-profile esp32`; change the profile, not this file.
#pragma once
#include <stdint.h>

namespace profile {

constexpr uint8_t kTelemetryPeriodMs = 10;  // between two telemetry frames
constexpr uint16_t kImuHz = 208;  // own rate of the inertial sensor
constexpr uint16_t kImuBandwidthHz = 50;  // its low-pass filter
constexpr uint8_t kLinkTimeoutMs = 200;  // without a valid command: short-brake
constexpr uint8_t kReverseLimitMs = 100;  // longest reverse pulse
constexpr uint16_t kBatteryLimitMv = 1600;  // below it for half a second: short-brake for good
constexpr uint16_t kMaximumDuty = 32767;  // of 32767; lower it to clamp the car itself
constexpr bool kSlowDecay = true;  // between pulses: short-brake, or free
constexpr uint8_t kPulsesPerTurn = 4;  // of the tachometer, per turn of a wheel

}  // namespace profile
