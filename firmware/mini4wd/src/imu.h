// Accelerometer and gyro, found by asking for their names: MPU-6050, MPU-9150, MPU-6500, MPU-9250, LSM6DS3, LSM6DS3TR-C.
// Each is a row of a table in imu.cpp: another one of these families is another row.
#pragma once
#include <stdint.h>

namespace imu {

// Both are set to +-16 g and +-2000 degrees per second.
struct Scale {
  uint16_t acceleration;    // LSB per 10 g
  uint16_t angular_rate;    // LSB per 100 degrees per second
};

struct Sample {
  int16_t acceleration[3];
  int16_t angular_rate[3];
  int16_t temperature;  // hundredths of a degree Celsius
};

bool begin();          // looks for a sensor and sets it up
uint8_t identity();    // its WHO_AM_I register, 0: none
Scale scale();
bool read(Sample& sample);

}  // namespace imu
