// A block that no interrupt of this core comes into, and no other core.
#pragma once
#include "freertos/FreeRTOS.h"

extern portMUX_TYPE car_lock;
struct CarLock {
  CarLock() { portENTER_CRITICAL_SAFE(&car_lock); }
  ~CarLock() { portEXIT_CRITICAL_SAFE(&car_lock); }
  bool once = true;
};
#define ATOMIC for (CarLock lock; lock.once; lock.once = false)
