#include "imu.h"

#include "twi.h"

namespace {

// Register numbers and scales: MPU-6000/MPU-6050 Register Map (InvenSense RM-MPU-6000A), LSM6DS3 datasheet (ST).
constexpr uint8_t kMpuAddress = 0x68;
constexpr uint8_t kMpuWhoAmI = 0x75;
constexpr uint8_t kMpuIdentity = 0x68;
constexpr uint8_t kLsmAddress = 0x6A;
constexpr uint8_t kLsmWhoAmI = 0x0F;
constexpr uint8_t kLsmIdentity = 0x69;

struct Setting {
  uint8_t reg;
  uint8_t value;
};
constexpr Setting kMpuSettings[] = {
    {0x6B, 0x01},  // awake, clock from the gyro
    {0x1A, 0x02},  // low-pass at 94 Hz: 3 ms of delay
    {0x19, 0x04},  // 200 samples a second
    {0x1B, 0x18},  // +-2000 degrees per second
    {0x1C, 0x18},  // +-16 g
};
constexpr Setting kLsmSettings[] = {
    {0x12, 0x44},  // whole samples only, addresses count up
    {0x10, 0x54},  // 208 samples a second, +-16 g
    {0x11, 0x5C},  // 208 samples a second, +-2000 degrees per second
};

uint8_t found = 0;

template <uint8_t count>
bool set_up(uint8_t address, const Setting (&settings)[count]) {
  for (const Setting& setting : settings) {
    if (!twi::write_register(address, setting.reg, setting.value)) return false;
  }
  return true;
}

bool answers(uint8_t address, uint8_t reg, uint8_t identity) {
  uint8_t name = 0;
  return twi::read_registers(address, reg, &name, 1) && name == identity;
}

int16_t big_endian(const uint8_t* bytes) { return static_cast<int16_t>(bytes[0] << 8 | bytes[1]); }
int16_t little_endian(const uint8_t* bytes) { return static_cast<int16_t>(bytes[1] << 8 | bytes[0]); }

}  // namespace

namespace imu {

bool begin() {
  twi::begin();
  found = 0;
  if (answers(kMpuAddress, kMpuWhoAmI, kMpuIdentity) && set_up(kMpuAddress, kMpuSettings)) found = kMpuIdentity;
  else if (answers(kLsmAddress, kLsmWhoAmI, kLsmIdentity) && set_up(kLsmAddress, kLsmSettings)) found = kLsmIdentity;
  return found != 0;
}

uint8_t identity() { return found; }

Scale scale() {
  if (found == kLsmIdentity) return {20492, 1429};  // 0.488 mg and 70 millidegrees per second an LSB
  return {20480, 1640};
}

bool read(Sample& sample) {
  uint8_t bytes[14];
  if (found == kMpuIdentity) {
    if (!twi::read_registers(kMpuAddress, 0x3B, bytes, 14)) return false;
    for (uint8_t i = 0; i < 3; ++i) {
      sample.acceleration[i] = big_endian(bytes + 2 * i);
      sample.angular_rate[i] = big_endian(bytes + 8 + 2 * i);
    }
    // Degrees: raw / 340 + 36.53.
    sample.temperature = static_cast<int16_t>(static_cast<int32_t>(big_endian(bytes + 6)) * 5 / 17 + 3653);
    return true;
  }
  if (found == kLsmIdentity) {
    if (!twi::read_registers(kLsmAddress, 0x20, bytes, 14)) return false;
    for (uint8_t i = 0; i < 3; ++i) {
      sample.angular_rate[i] = little_endian(bytes + 2 + 2 * i);
      sample.acceleration[i] = little_endian(bytes + 8 + 2 * i);
    }
    sample.temperature = static_cast<int16_t>(static_cast<int32_t>(little_endian(bytes)) * 25 / 4 + 2500);
    return true;
  }
  return false;
}

}  // namespace imu
