// The pins of the board; see ../README.md.
#pragma once

#if CONFIG_IDF_TARGET_ESP32
constexpr int kIn1 = 25, kIn2 = 26, kSda = 21, kScl = 22, kTachometer = 27, kBatteryChannel = 6;  // GPIO34
#elif CONFIG_IDF_TARGET_ESP32S3
constexpr int kIn1 = 4, kIn2 = 5, kSda = 6, kScl = 7, kTachometer = 9, kBatteryChannel = 2;  // GPIO3
#else
constexpr int kIn1 = 4, kIn2 = 5, kSda = 6, kScl = 7, kTachometer = 10, kBatteryChannel = 3;  // GPIO3
#endif
