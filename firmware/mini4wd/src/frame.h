// Frames on the wire: COBS (consistent overhead byte stuffing) of payload and CRC-16, then a zero byte.
// The CRC is CRC-16/IBM-3740 (polynomial 0x1021, start 0xFFFF), its high byte first.
#pragma once
#include <stdint.h>

namespace frame {

constexpr uint8_t kLongest = 48;  // payload and CRC

// Sends a payload if the serial port has room for all of it; a frame is never cut.
bool send(const uint8_t* payload, uint8_t length);

// Takes in one received byte. Returns the payload's length when it completes a valid frame, else 0.
uint8_t take(uint8_t byte, uint8_t* payload);

// Damaged frames since start (counts around).
uint8_t damaged();

}  // namespace frame
