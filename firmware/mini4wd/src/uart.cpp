#include "uart.h"

#include <avr/interrupt.h>
#include <avr/io.h>

#include "profile.h"

namespace {

constexpr uint8_t kSize = 128;  // a power of two
#ifdef BAUD
constexpr int32_t kBaud = BAUD;
#else
constexpr int32_t kBaud = profile::kBaud;
#endif
constexpr uint16_t kDivider = (F_CPU + kBaud * 4) / (kBaud * 8) - 1;
constexpr int32_t kActual = F_CPU / (8 * (kDivider + 1));
static_assert((kActual - kBaud) * 40 < kBaud && (kBaud - kActual) * 40 < kBaud,
              "this baud rate is off by more than 2.5 % at this clock");

struct Ring {
  volatile uint8_t head = 0;
  volatile uint8_t tail = 0;
  uint8_t bytes[kSize];

  uint8_t used() const { return (head - tail) & (kSize - 1); }
  uint8_t free() const { return kSize - 1 - used(); }
  void push(uint8_t byte) {
    bytes[head] = byte;
    head = (head + 1) & (kSize - 1);
  }
  uint8_t pop() {
    const uint8_t byte = bytes[tail];
    tail = (tail + 1) & (kSize - 1);
    return byte;
  }
};

Ring received;
Ring sending;

}  // namespace

ISR(USART_RX_vect) {
  const uint8_t byte = UDR0;
  if (received.free()) received.push(byte);  // a full ring loses the byte, and the frame's CRC tells
}

ISR(USART_UDRE_vect) {
  if (sending.used()) {
    UDR0 = sending.pop();
  } else {
    UCSR0B &= ~_BV(UDRIE0);
  }
}

namespace uart {

void begin() {
  UCSR0A = _BV(U2X0);
  UBRR0 = kDivider;
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

bool read(uint8_t& byte) {
  if (!received.used()) return false;
  byte = received.pop();
  return true;
}

uint8_t room() { return sending.free(); }

void write(uint8_t byte) {
  if (!sending.free()) return;
  sending.push(byte);
  UCSR0B |= _BV(UDRIE0);
}

}  // namespace uart
