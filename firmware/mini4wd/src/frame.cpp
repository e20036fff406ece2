#include "frame.h"

#include "uart.h"

namespace {

uint8_t buffer[frame::kLongest + 2];
uint8_t filled = 0;
bool too_long = false;
uint8_t damaged_count = 0;

uint16_t crc16(const uint8_t* bytes, uint8_t length) {
  uint16_t crc = 0xFFFF;
  for (uint8_t i = 0; i < length; ++i) {
    // Polynomial 0x1021, a byte at a time without a table.
    uint8_t x = (crc >> 8) ^ bytes[i];
    x ^= x >> 4;
    crc = (crc << 8) ^ (static_cast<uint16_t>(x) << 12) ^ (static_cast<uint16_t>(x) << 5) ^ x;
  }
  return crc;
}

// Decodes the buffer; returns the length, or 0 for what is no COBS.
uint8_t unstuff(uint8_t* out) {
  uint8_t in = 0;
  uint8_t length = 0;
  while (in < filled) {
    const uint8_t code = buffer[in++];
    if (code == 0 || in + code - 1 > filled) return 0;
    for (uint8_t i = 1; i < code; ++i) {
      if (length >= frame::kLongest) return 0;
      out[length++] = buffer[in++];
    }
    if (in < filled) {
      if (length >= frame::kLongest) return 0;
      out[length++] = 0;
    }
  }
  return length;
}

}  // namespace

namespace frame {

bool send(const uint8_t* payload, uint8_t length) {
  if (uart::room() < length + 4) return false;
  const uint16_t crc = crc16(payload, length);
  const uint8_t total = length + 2;
  const auto byte = [&](uint8_t i) -> uint8_t {
    return i < length ? payload[i] : i == length ? crc >> 8 : crc & 0xFF;
  };
  // A frame is shorter than 254 bytes: each block is what lies before the next zero.
  uint8_t begin = 0;
  while (begin <= total) {
    uint8_t end = begin;
    while (end < total && byte(end) != 0) ++end;
    uart::write(end - begin + 1);
    for (uint8_t i = begin; i < end; ++i) uart::write(byte(i));
    begin = end + 1;
  }
  uart::write(0);
  return true;
}

uint8_t take(uint8_t byte, uint8_t* payload) {
  if (byte != 0) {
    if (filled < sizeof buffer) buffer[filled++] = byte;
    else too_long = true;
    return 0;
  }
  const bool empty = filled == 0;
  uint8_t length = too_long ? 0 : unstuff(payload);
  filled = 0;
  too_long = false;
  if (length > 2 && crc16(payload, length) == 0) return length - 2;
  if (!empty) ++damaged_count;
  return 0;
}

uint8_t damaged() { return damaged_count; }

}  // namespace frame
