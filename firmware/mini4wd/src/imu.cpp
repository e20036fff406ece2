#include "imu.h"

#include "profile.h"
#include "twi.h"

namespace {

// Register numbers, settings and scales are those of the makers' register maps: MPU-6000/MPU-6050 (RM-MPU-6000A), MPU-6500
// (RM-MPU-6500A), LSM6DS3 (ST DS10314), LSM6DS3TR-C (ST DS11693). Rate and low-pass filter are what a chip has nearest to the
// profile's.
constexpr uint16_t kHz = profile::kImuHz;
constexpr uint16_t kBand = profile::kImuBandwidthHz;

// MPU: a thousand samples a second over the divider and one; low-pass filters of 184, 94, 44, 21, 10 and 5 Hz.
constexpr uint8_t kMpuDivider = (1000 + kHz / 2) / kHz - 1;
constexpr uint8_t kMpuFilter = kBand > 131 ? 1 : kBand > 64 ? 2 : kBand > 30 ? 3 : kBand > 14 ? 4 : kBand > 7 ? 5 : 6;
// LSM6DS3 family: 26 Hz is 2, and so on by factors of 2 to 1.66 kHz. Accelerometer: the LSM6DS3 filters at 400, 200, 100 or
// 50 Hz, the TR-C at a half or a quarter of the rate. The gyro's filter follows its rate.
constexpr uint8_t kLsmRate = kHz > 1178 ? 8 : kHz > 589 ? 7 : kHz > 294 ? 6 : kHz > 147 ? 5 : kHz > 73 ? 4 : kHz > 36 ? 3 : 2;
constexpr uint8_t kLsmFilter = kBand > 283 ? 0 : kBand > 141 ? 1 : kBand > 71 ? 2 : 3;
constexpr uint8_t kTrcFilter = 8 * kBand > 3 * kHz ? 0 : 2;
struct Setting {
  uint8_t reg;
  uint8_t value;
};

struct Chip {
  uint8_t identity;           // what its name register answers
  uint8_t address;
  uint8_t name_register;
  const Setting* settings;
  uint8_t setting_count;
  uint8_t first_register;     // of the 14 bytes that are read at once
  uint8_t acceleration_at;    // where in them the three words lie
  uint8_t rate_at;
  uint8_t temperature_at;
  bool big_endian;
  imu::Scale scale;
  int16_t temperature_per;    // hundredths of a degree: raw * per / divisor + offset
  int16_t temperature_divisor;
  int16_t temperature_offset;
};

constexpr Setting kMpu6050[] = {
    {0x6B, 0x01},  // awake, clock from the gyro
    {0x1A, kMpuFilter},
    {0x19, kMpuDivider},
    {0x1B, 0x18},  // +-2000 degrees per second
    {0x1C, 0x18},  // +-16 g
};
constexpr Setting kMpu6500[] = {
    {0x6B, 0x01},  // awake, the best clock that there is
    {0x1A, kMpuFilter},
    {0x19, kMpuDivider},
    {0x1B, 0x18},  // +-2000 degrees per second
    {0x1C, 0x18},  // +-16 g
    {0x1D, kMpuFilter},  // the accelerometer's is a register of its own, with nearly the same steps
};
constexpr Setting kLsm6ds3[] = {
    {0x12, 0x44},  // whole samples only, addresses count up
    {0x13, 0x80},  // the filter is the one that is asked for, not the rate's own
    {0x10, kLsmRate << 4 | 0x04 | kLsmFilter},  // +-16 g
    {0x11, kLsmRate << 4 | 0x0C},               // +-2000 degrees per second
};
constexpr Setting kLsm6ds3trc[] = {
    {0x12, 0x44},
    {0x10, kLsmRate << 4 | 0x04 | kTrcFilter},
    {0x11, kLsmRate << 4 | 0x0C},
};

constexpr imu::Scale kMpuScale = {20480, 1640};  // 2048 LSB per g, 16.4 LSB per degree per second
constexpr imu::Scale kLsmScale = {20492, 1429};  // 0.488 mg and 70 millidegrees per second an LSB

#define SETTINGS(list) list, sizeof(list) / sizeof(list[0])
constexpr Chip kChips[] = {
    // name  at    asks  settings           data  acc gyro temp endian scale       temperature
    {0x68, 0x68, 0x75, SETTINGS(kMpu6050), 0x3B, 0, 8, 6, true, kMpuScale, 5, 17, 3653},    // MPU-6050, MPU-9150
    {0x70, 0x68, 0x75, SETTINGS(kMpu6500), 0x3B, 0, 8, 6, true, kMpuScale, 3, 10, 2100},    // MPU-6500
    {0x71, 0x68, 0x75, SETTINGS(kMpu6500), 0x3B, 0, 8, 6, true, kMpuScale, 3, 10, 2100},    // MPU-9250
    {0x69, 0x6A, 0x0F, SETTINGS(kLsm6ds3), 0x20, 8, 2, 0, false, kLsmScale, 25, 4, 2500},   // LSM6DS3
    {0x6A, 0x6A, 0x0F, SETTINGS(kLsm6ds3trc), 0x20, 8, 2, 0, false, kLsmScale, 25, 64, 2500},  // LSM6DS3TR-C
};
#undef SETTINGS

const Chip* found = nullptr;

bool set_up(const Chip& chip) {
  for (uint8_t i = 0; i < chip.setting_count; ++i) {
    if (!twi::write_register(chip.address, chip.settings[i].reg, chip.settings[i].value)) return false;
  }
  return true;
}

int16_t word(const uint8_t* bytes, bool big_endian) {
  return static_cast<int16_t>(big_endian ? bytes[0] << 8 | bytes[1] : bytes[1] << 8 | bytes[0]);
}

}  // namespace

namespace imu {

bool begin() {
  twi::begin();
  found = nullptr;
  for (const Chip& chip : kChips) {
    uint8_t name = 0;
    if (!twi::read_registers(chip.address, chip.name_register, &name, 1) || name != chip.identity) continue;
    if (set_up(chip)) found = &chip;
    break;
  }
  return found != nullptr;
}

uint8_t identity() { return found ? found->identity : 0; }

Scale scale() { return found ? found->scale : kMpuScale; }

bool read(Sample& sample) {
  uint8_t bytes[14];
  if (!found || !twi::read_registers(found->address, found->first_register, bytes, sizeof bytes)) return false;
  for (uint8_t i = 0; i < 3; ++i) {
    sample.acceleration[i] = word(bytes + found->acceleration_at + 2 * i, found->big_endian);
    sample.angular_rate[i] = word(bytes + found->rate_at + 2 * i, found->big_endian);
  }
  const int32_t raw = word(bytes + found->temperature_at, found->big_endian);
  sample.temperature =
      static_cast<int16_t>(raw * found->temperature_per / found->temperature_divisor + found->temperature_offset);
  return true;
}

}  // namespace imu
