// The conversation with the host: what the messages mean. All numbers are little-endian.
//
// host to car
//   'H' hello      u8 type, u8 session (not 0), u8 protocol version
//   'C' command    u8 type, u8 session, u16 number, u32 host time (ms), u8 mode, u16 duty (32767 is full)
// car to host
//   'h' hello      u8 type, u8 session, u8 protocol version, u8 sensor identity, u8 telemetry period (ms),
//                  u8 link timeout (ms), u8 reverse limit (ms), u8 cause of the last reset (MCUSR),
//                  u16 acceleration scale (LSB per 10 g), u16 angular rate scale (LSB per 100 degrees per second)
//   'T' telemetry  u8 type, u8 session, u16 number, u32 car time (us), u16 number of the last command obeyed,
//                  u16 its age (10 us), u8 mode, u16 duty, u8 flags, i16 acceleration[3], i16 angular rate[3],
//                  i16 temperature (0.01 degrees Celsius), u16 motor battery (mV), u16 tachometer pulses,
//                  u16 how long ago the last of them came (10 us, 65535: longer, or none yet), u8 damaged frames,
//                  u8 refused commands
#pragma once
#include <stdint.h>

namespace car_link {

constexpr uint8_t kVersion = 2;
constexpr uint8_t kLateMs = 100;  // a command that is so much later than the fastest one is refused as stale

enum Flag : uint8_t { kLinkTimedOut = 1, kReverseLimited = 2, kSensorFault = 4, kBatteryLow = 8 };

void begin(uint8_t reset_cause);
void receive();         // handles all bytes that have come
void send_telemetry();  // reads the sensor and reports

}  // namespace car_link
