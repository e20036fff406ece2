#include "link.h"

#include "clock.h"
#include "frame.h"
#include "imu.h"
#include "inputs.h"
#include "motor.h"
#include "profile.h"
#include "uart.h"

namespace {

uint8_t reset_cause = 0;
uint8_t session = 0;
bool commanded = false;      // since the session began
uint16_t command_number = 0;
uint32_t command_us = 0;     // when the last command was obeyed
int32_t fastest = 0;         // least (car time - host time) of a command, ms
uint32_t fastest_moved = 0;  // when it was last let go of by a millisecond
uint16_t telemetry_number = 0;
uint8_t refused = 0;

// Both clocks drift: the fastest delay is let go of by 1 %, more than an Arduino's resonator is off.
constexpr uint8_t kDriftPeriodMs = 100;

class Writer {
 public:
  void u8(uint8_t value) { bytes_[length_++] = value; }
  void u16(uint16_t value) { u8(value & 0xFF), u8(value >> 8); }
  void u32(uint32_t value) { u16(value & 0xFFFF), u16(value >> 16); }
  void send() const { frame::send(bytes_, length_); }

 private:
  uint8_t bytes_[frame::kLongest];
  uint8_t length_ = 0;
};

uint16_t u16(const uint8_t* bytes) { return bytes[0] | static_cast<uint16_t>(bytes[1]) << 8; }
uint32_t u32(const uint8_t* bytes) { return u16(bytes) | static_cast<uint32_t>(u16(bytes + 2)) << 16; }

void hello(const uint8_t* payload) {
  if (payload[2] != car_link::kVersion || payload[1] == 0) {
    ++refused;
    return;
  }
  motor::brake();
  session = payload[1];
  commanded = false;
  command_number = 0;
  if (!imu::identity()) imu::begin();
  const imu::Scale scale = imu::scale();
  Writer out;
  out.u8('h');
  out.u8(session);
  out.u8(car_link::kVersion);
  out.u8(imu::identity());
  out.u8(profile::kTelemetryPeriodMs);
  out.u8(profile::kLinkTimeoutMs);
  out.u8(profile::kReverseLimitMs);
  out.u8(reset_cause);
  out.u16(scale.acceleration);
  out.u16(scale.angular_rate);
  out.send();
}

bool acceptable(uint16_t number, uint32_t host_ms) {
  const uint32_t now = car_clock::milliseconds();
  if (commanded && static_cast<int16_t>(number - command_number) <= 0) return false;  // doubled or reordered
  const int32_t delay = static_cast<int32_t>(now - host_ms);
  if (!commanded) {
    fastest = delay;
    fastest_moved = now;
  }
  while (now - fastest_moved >= kDriftPeriodMs) {
    fastest_moved += kDriftPeriodMs;
    ++fastest;
  }
  if (delay < fastest) fastest = delay;
  return delay - fastest <= car_link::kLateMs;
}

void command(const uint8_t* payload) {
  const uint16_t number = u16(payload + 2);
  const uint8_t mode = payload[8];
  if (payload[1] != session || session == 0 || mode > motor::kFree || !acceptable(number, u32(payload + 4))) {
    ++refused;
    return;
  }
  commanded = true;
  command_number = number;
  command_us = car_clock::microseconds();
  motor::command(static_cast<motor::Mode>(mode), u16(payload + 9));
}

}  // namespace

namespace car_link {

void begin(uint8_t cause) { reset_cause = cause; }

void receive() {
  uint8_t byte;
  uint8_t payload[frame::kLongest];
  while (uart::read(byte)) {
    const uint8_t length = frame::take(byte, payload);
    if (length == 3 && payload[0] == 'H') hello(payload);
    else if (length == 11 && payload[0] == 'C') command(payload);
    else if (length) ++refused;
  }
}

void send_telemetry() {
  imu::Sample sample = {};
  const bool sensed = imu::read(sample);
  if (!sensed && !commanded) imu::begin();  // a sensor may be plugged in while the car stands
  const uint16_t millivolts = inputs::battery_millivolts();
  motor::watch_battery(millivolts);
  const motor::State motor = motor::state();
  const inputs::Tachometer tachometer = inputs::tachometer();
  const uint32_t now = car_clock::microseconds();
  const uint32_t age = (now - command_us) / 10;
  const bool says = commanded && profile::kAcknowledges;
  Writer out;
  out.u8('T');
  out.u8(session);
  out.u16(telemetry_number++);
  out.u32(now);
  out.u16(says ? command_number : 0);
  out.u16(says && age < 0xFFFF ? age : 0xFFFF);
  out.u8(motor.mode);
  out.u16(motor.duty);
  out.u8((motor.link_timed_out ? kLinkTimedOut : 0) | (motor.reverse_limited ? kReverseLimited : 0) |
         (sensed ? 0 : kSensorFault) | (motor.battery_low ? kBatteryLow : 0));
  for (const int16_t value : sample.acceleration) out.u16(value);
  for (const int16_t value : sample.angular_rate) out.u16(value);
  out.u16(sample.temperature);
  out.u16(millivolts);
  out.u16(tachometer.pulses);
  const uint32_t pulse_age = (now - tachometer.last_us) / 10;
  out.u16(tachometer.pulses && pulse_age < 0xFFFF ? pulse_age : 0xFFFF);
  out.u8(frame::damaged());
  out.u8(refused);
  out.send();
}

}  // namespace car_link
