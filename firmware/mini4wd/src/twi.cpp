#include "twi.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <util/twi.h>

#include "clock.h"

namespace {

constexpr uint32_t kClock = 400000;
constexpr uint8_t kPatienceMs = 4;  // the longest transfer, 17 bytes, takes 0.4 ms

constexpr uint8_t kGo = _BV(TWINT) | _BV(TWEN) | _BV(TWIE);

enum Result : uint8_t { kRunning, kDone, kFailed };

struct Transfer {
  uint8_t address;
  uint8_t reg;
  uint8_t* bytes;
  uint8_t count;
  bool reading;
  uint8_t position;
  bool register_sent;
};
Transfer transfer;
volatile Result result = kDone;

void finish(Result how) {
  TWCR = _BV(TWINT) | _BV(TWSTO) | _BV(TWEN);
  result = how;
}

void send(uint8_t byte) {
  TWDR = byte;
  TWCR = kGo;
}

void acknowledge_all_but_the_last() { TWCR = kGo | (transfer.position + 1 < transfer.count ? _BV(TWEA) : 0); }

Result run(uint8_t address, uint8_t reg, uint8_t* bytes, uint8_t count, bool reading) {
  transfer = {address, reg, bytes, count, reading, 0, false};
  result = kRunning;
  for (uint8_t turns = 0; (TWCR & _BV(TWSTO)) && turns < 255; ++turns) {  // the last transfer's stop takes 3 us
  }
  const uint32_t begun = car_clock::milliseconds();
  TWCR = kGo | _BV(TWSTA);
  while (car_clock::milliseconds() - begun <= kPatienceMs) {
    cli();
    if (result != kRunning) {
      sei();
      return result;
    }
    sleep_enable();
    sei();  // takes effect after the next instruction: no interrupt is missed
    sleep_cpu();
    sleep_disable();
  }
  TWCR = 0;  // the bus hangs: let go of it
  return kFailed;
}

}  // namespace

ISR(TWI_vect) {
  switch (TW_STATUS) {
    case TW_START:
      send(transfer.address << 1 | TW_WRITE);
      break;
    case TW_REP_START:
      send(transfer.address << 1 | TW_READ);
      break;
    case TW_MT_SLA_ACK:
    case TW_MT_DATA_ACK:
      if (!transfer.register_sent) {
        transfer.register_sent = true;
        send(transfer.reg);
      } else if (transfer.reading) {
        TWCR = kGo | _BV(TWSTA);
      } else if (transfer.position < transfer.count) {
        send(transfer.bytes[transfer.position++]);
      } else {
        finish(kDone);
      }
      break;
    case TW_MR_SLA_ACK:
      acknowledge_all_but_the_last();
      break;
    case TW_MR_DATA_ACK:
      transfer.bytes[transfer.position++] = TWDR;
      acknowledge_all_but_the_last();
      break;
    case TW_MR_DATA_NACK:
      transfer.bytes[transfer.position++] = TWDR;
      finish(kDone);
      break;
    default:
      finish(kFailed);
  }
}

namespace twi {

void begin() {
  PORTC |= _BV(PC4) | _BV(PC5);  // pull-ups; the sensor board's own are stronger
  TWSR = 0;
  TWBR = (F_CPU / kClock - 16) / 2;
}

bool write_register(uint8_t address, uint8_t reg, uint8_t value) { return run(address, reg, &value, 1, false) == kDone; }

bool read_registers(uint8_t address, uint8_t reg, uint8_t* out, uint8_t count) {
  return run(address, reg, out, count, true) == kDone;
}

}  // namespace twi
