/* Runs the car's program on an emulated ATmega328P (simavr) and gives it a body: its serial port is a pty, its I2C
 * sensor an MPU-6050, its motor pins are watched, its battery and tachometer pins are driven.
 *
 *   emulator FIRMWARE.elf              time stands still except as told on standard input (below)
 *   emulator FIRMWARE.elf --real-time  the chip follows the wall clock; the car lies still
 *
 * It first prints the path of the pty. Then each line of input has an answer, one line:
 *
 *   run UNTIL_US HOST_BYTES  ->  NOW_US TO_HOST FORWARD REVERSE BRAKE FREE CHANGED_US
 *       Runs until that time of the chip's clock. HOST_BYTES: bytes that the host has written to the pty since the
 *       start; the emulator waits until it has got them. TO_HOST: bytes that it has written to the pty since the start.
 *       FORWARD to FREE: how long the pins drove the motor so since the last `run`, in parts per million.
 *       CHANGED_US: when the pins, or the duty that they are given, last changed.
 *   sense AX AY AZ GX GY GZ T  ->  ok       registers of the sensor at its widest ranges (raw units)
 *   battery MILLIVOLTS         ->  ok
 *   pulses COUNT [AFTER_US]    ->  ok       tachometer pulses during the next `run`, evenly, the last so long after its start
 *   sensor 0|1                 ->  ok       takes the sensor off the bus, or puts it back
 *   reset                      ->  ok       a brown-out: the program starts anew
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <avr_adc.h>
#include <avr_ioport.h>
#include <avr_twi.h>
#include <avr_uart.h>
#include <sim_avr.h>
#include <sim_elf.h>
#include <sim_irq.h>
#include <sim_time.h>

#define CLOCK_HZ 16000000u
#define CYCLES_PER_US 16u

/* Data addresses of the ATmega328P. */
enum { PORTB_ = 0x25, DDRB_ = 0x24, TCCR1A_ = 0x80, ICR1_ = 0x86, OCR1A_ = 0x88, OCR1B_ = 0x8A, UBRR0_ = 0xC4, UCSR0A_ = 0xC0 };
enum { IN1_BIT = 1 << 1, IN2_BIT = 1 << 2, COM1A1_BIT = 1 << 7, COM1B1_BIT = 1 << 5, U2X_BIT = 1 << 1 };

enum { MPU_ADDRESS = 0x68, MPU_GYRO_CONFIG = 0x1B, MPU_ACCEL_CONFIG = 0x1C, MPU_DATA = 0x3B, MPU_POWER = 0x6B, MPU_WHO_AM_I = 0x75 };

static avr_t *avr;
static FILE *answers; /* what was standard output: simavr prints there too */
static int pty = -1;
static uint64_t host_bytes, to_host_bytes;

/* ---- serial port ---- */

static uint8_t waiting[4096];
static size_t waiting_head, waiting_count;
static avr_cycle_count_t line_free_at;
static avr_irq_t *uart_input;

static void on_uart_output(struct avr_irq_t *irq, uint32_t value, void *param) {
  (void)irq, (void)param;
  const uint8_t byte = value;
  if (write(pty, &byte, 1) == 1) ++to_host_bytes; /* a full pty loses the byte, as a wire that nobody listens to */
}

/* The next byte has come over the wire. simavr counts eleven bits a byte. */
static avr_cycle_count_t on_byte(struct avr_t *chip, avr_cycle_count_t when, void *param) {
  (void)param;
  if (!waiting_count) return 0;
  const uint8_t byte = waiting[waiting_head];
  waiting_head = (waiting_head + 1) % sizeof waiting;
  --waiting_count;
  avr_raise_irq(uart_input, byte);
  const unsigned divider = (chip->data[UBRR0_] | (chip->data[UBRR0_ + 1] << 8)) + 1u;
  line_free_at = when + 11ull * divider * (chip->data[UCSR0A_] & U2X_BIT ? 8 : 16);
  return waiting_count ? line_free_at : 0;
}

static void take_from_host(void) {
  uint8_t bytes[512];
  size_t room = sizeof waiting - waiting_count;
  if (room > sizeof bytes) room = sizeof bytes;
  const int idle = waiting_count == 0;
  const ssize_t count = room ? read(pty, bytes, room) : 0;
  if (count <= 0) return;
  for (ssize_t i = 0; i < count; ++i) waiting[(waiting_head + waiting_count++) % sizeof waiting] = bytes[i];
  host_bytes += count;
  if (idle) avr_cycle_timer_register(avr, line_free_at > avr->cycle ? line_free_at - avr->cycle : 1, on_byte, NULL);
}

/* ---- the sensor ---- */

static struct {
  int present;
  uint8_t selected; /* address and direction that was answered, 0: none */
  int expects_register;
  uint8_t pointer;
  uint8_t registers[128];
  int16_t raw[7]; /* acceleration, angular rate, temperature, at the widest ranges */
  avr_irq_t *irq;
} mpu = {.present = 1};

static void mpu_power_up(void) {
  memset(mpu.registers, 0, sizeof mpu.registers);
  mpu.registers[MPU_POWER] = 0x40; /* asleep */
  mpu.registers[MPU_WHO_AM_I] = 0x68;
  mpu.selected = 0;
}

static void mpu_store(unsigned at, int32_t value) {
  if (value > INT16_MAX) value = INT16_MAX;
  if (value < INT16_MIN) value = INT16_MIN;
  mpu.registers[at] = (uint16_t)value >> 8;
  mpu.registers[at + 1] = value & 0xFF;
}

static void mpu_latch(void) {
  if (mpu.registers[MPU_POWER] & 0x40) return;
  const int32_t acceleration_gain = 1 << (3 - (mpu.registers[MPU_ACCEL_CONFIG] >> 3 & 3));
  const int32_t gyro_gain = 1 << (3 - (mpu.registers[MPU_GYRO_CONFIG] >> 3 & 3));
  for (unsigned i = 0; i < 3; ++i) {
    mpu_store(MPU_DATA + 2 * i, mpu.raw[i] * acceleration_gain);
    mpu_store(MPU_DATA + 8 + 2 * i, mpu.raw[3 + i] * gyro_gain);
  }
  mpu_store(MPU_DATA + 6, mpu.raw[6]);
}

static void on_twi(struct avr_irq_t *irq, uint32_t value, void *param) {
  (void)irq, (void)param;
  const avr_twi_msg_irq_t message = {.u.v = value};
  const uint8_t what = message.u.twi.msg;
  if (what & TWI_COND_STOP) mpu.selected = 0;
  if (what & TWI_COND_START) {
    mpu.selected = 0;
    if (mpu.present && message.u.twi.addr >> 1 == MPU_ADDRESS) {
      mpu.selected = message.u.twi.addr;
      mpu.expects_register = !(message.u.twi.addr & 1);
      avr_raise_irq(mpu.irq + TWI_IRQ_INPUT, avr_twi_irq_msg(TWI_COND_ACK, mpu.selected, 1));
    }
  }
  if (!mpu.selected) return;
  if (what & TWI_COND_WRITE) {
    avr_raise_irq(mpu.irq + TWI_IRQ_INPUT, avr_twi_irq_msg(TWI_COND_ACK, mpu.selected, 1));
    if (mpu.expects_register) {
      mpu.pointer = message.u.twi.data & 127;
      mpu.expects_register = 0;
      mpu_latch();
    } else {
      mpu.registers[mpu.pointer] = message.u.twi.data;
      mpu.pointer = (mpu.pointer + 1) & 127;
    }
  }
  if (what & TWI_COND_READ) {
    avr_raise_irq(mpu.irq + TWI_IRQ_INPUT, avr_twi_irq_msg(TWI_COND_READ, mpu.selected, mpu.registers[mpu.pointer]));
    mpu.pointer = (mpu.pointer + 1) & 127;
  }
}

/* ---- the motor pins ---- */

enum { FORWARD, REVERSE, BRAKE, FREE, STATES };
static double drive[STATES]; /* share of a PWM period that the pins now spend in each state */
static double cycles_in[STATES];
static avr_cycle_count_t pins_seen_at, pins_changed_at;
static uint64_t pins_signature = UINT64_MAX;

/* A pin is high for (OCR + 1) of (TOP + 1) ticks while the timer drives it (fast PWM, not inverted). */
static double high_share(uint8_t pin, uint8_t com, unsigned ocr) {
  const uint8_t *d = avr->data;
  if (!(d[DDRB_] & pin)) return 0; /* an input: the bridge's pull-down wins */
  if (!(d[TCCR1A_] & com)) return d[PORTB_] & pin ? 1 : 0;
  const double share = ((d[ocr] | d[ocr + 1] << 8) + 1.0) / ((d[ICR1_] | d[ICR1_ + 1] << 8) + 1.0);
  return share > 1 ? 1 : share;
}

static void watch_pins(void) {
  const uint8_t *d = avr->data;
  const uint64_t signature = (uint64_t)(d[PORTB_] & (IN1_BIT | IN2_BIT)) << 48 | (uint64_t)(d[DDRB_] & (IN1_BIT | IN2_BIT)) << 40 |
                             (uint64_t)d[TCCR1A_] << 32 | (uint64_t)d[OCR1A_ + 1] << 24 | d[OCR1A_] << 16 |
                             d[OCR1B_ + 1] << 8 | d[OCR1B_];
  if (signature == pins_signature) return;
  pins_signature = signature;
  const double in1 = high_share(IN1_BIT, COM1A1_BIT, OCR1A_), in2 = high_share(IN2_BIT, COM1B1_BIT, OCR1B_);
  /* Both pins rise together at the timer's bottom: they overlap for the shorter of the two. */
  const double state[STATES] = {in1 > in2 ? in1 - in2 : 0, in2 > in1 ? in2 - in1 : 0, in1 < in2 ? in1 : in2, 1 - (in1 > in2 ? in1 : in2)};
  if (memcmp(state, drive, sizeof drive) == 0) return;
  for (int i = 0; i < STATES; ++i) cycles_in[i] += drive[i] * (avr->cycle - pins_seen_at);
  memcpy(drive, state, sizeof drive);
  pins_seen_at = pins_changed_at = avr->cycle;
}

/* ---- running ---- */

static unsigned pulses_left, pulses_after_us;
static avr_cycle_count_t pulse_every, next_pulse;
static int pulse_level;
static avr_irq_t *tachometer, *battery;

static void no_sleep(avr_t *chip, avr_cycle_count_t cycles) { (void)chip, (void)cycles; }

static void run_until(avr_cycle_count_t until) {
  if (pulse_level) { /* a pulse of the last run ends now, at the latest */
    pulse_level = 0;
    avr_raise_irq(tachometer, 0);
    --pulses_left;
  }
  if (pulses_left) {
    const avr_cycle_count_t span = pulses_after_us ? (avr_cycle_count_t)pulses_after_us * CYCLES_PER_US : (until - avr->cycle) * 3 / 4;
    pulse_every = span / (2 * pulses_left);
    next_pulse = avr->cycle + span - (2 * pulses_left - 2) * pulse_every;
  }
  while (avr->cycle < until) {
    if (pulses_left && avr->cycle >= next_pulse) {
      pulse_level = !pulse_level;
      avr_raise_irq(tachometer, pulse_level);
      next_pulse += pulse_every;
      if (!pulse_level) --pulses_left;
    }
    const int state = avr_run(avr);
    watch_pins();
    if (state == cpu_Done || state == cpu_Crashed) {
      fprintf(stderr, "the program crashed at cycle %llu\n", (unsigned long long)avr->cycle);
      exit(1);
    }
  }
}

static void open_pty(void) {
  pty = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (pty < 0 || grantpt(pty) || unlockpt(pty)) {
    perror("pty");
    exit(1);
  }
  /* One end stays open here, so that a host may close the port and open it again. */
  const int other = open(ptsname(pty), O_RDWR | O_NOCTTY);
  struct termios settings;
  if (other < 0 || tcgetattr(other, &settings)) {
    perror("pty");
    exit(1);
  }
  cfmakeraw(&settings);
  tcsetattr(other, TCSANOW, &settings);
  fprintf(answers, "%s\n", ptsname(pty));
  fflush(answers);
}

static void start_chip(const char *path) {
  elf_firmware_t firmware = {0};
  if (elf_read_firmware(path, &firmware)) {
    fprintf(stderr, "%s is no program for an AVR\n", path);
    exit(1);
  }
  avr = avr_make_mcu_by_name("atmega328p");
  avr_init(avr);
  avr->log = LOG_ERROR;
  firmware.frequency = CLOCK_HZ;
  avr_load_firmware(avr, &firmware);
  avr->frequency = CLOCK_HZ;
  avr->vcc = avr->avcc = avr->aref = 5000;
  avr->sleep = no_sleep;
  uint32_t flags = 0;
  avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
  flags &= ~(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
  avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
  uart_input = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
  avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), on_uart_output, NULL);
  static const char *names[TWI_IRQ_COUNT] = {"8<mpu.input", "32>mpu.output", "8>mpu.status"};
  mpu.irq = avr_alloc_irq(&avr->irq_pool, 0, TWI_IRQ_COUNT, names);
  avr_irq_register_notify(mpu.irq + TWI_IRQ_OUTPUT, on_twi, NULL);
  avr_connect_irq(mpu.irq + TWI_IRQ_INPUT, avr_io_getirq(avr, AVR_IOCTL_TWI_GETIRQ(0), TWI_IRQ_INPUT));
  avr_connect_irq(avr_io_getirq(avr, AVR_IOCTL_TWI_GETIRQ(0), TWI_IRQ_OUTPUT), mpu.irq + TWI_IRQ_OUTPUT);
  battery = avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_ADC0);
  tachometer = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('D'), 2);
  avr_raise_irq(battery, 3000);
  mpu_power_up();
  watch_pins();
}

static void obey(char *line) {
  unsigned long long until, wanted;
  int v[7];
  if (sscanf(line, "run %llu %llu", &until, &wanted) == 2) {
    take_from_host();
    for (int patience = 0; host_bytes < wanted && patience < 10000; ++patience) {
      take_from_host();
      if (host_bytes < wanted) usleep(1000);
    }
    const avr_cycle_count_t before = avr->cycle;
    run_until(until * CYCLES_PER_US);
    for (int i = 0; i < STATES; ++i) cycles_in[i] += drive[i] * (avr->cycle - pins_seen_at);
    pins_seen_at = avr->cycle;
    double total = 0;
    for (int i = 0; i < STATES; ++i) total += cycles_in[i];
    fprintf(answers, "%llu %llu", (unsigned long long)(avr->cycle / CYCLES_PER_US), (unsigned long long)to_host_bytes);
    for (int i = 0; i < STATES; ++i) {
      fprintf(answers, " %.0f", avr->cycle > before && total > 0 ? cycles_in[i] / total * 1e6 : drive[i] * 1e6);
      cycles_in[i] = 0;
    }
    fprintf(answers, " %llu\n", (unsigned long long)(pins_changed_at / CYCLES_PER_US));
    return;
  }
  if (sscanf(line, "sense %d %d %d %d %d %d %d", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6) == 7) {
    for (int i = 0; i < 7; ++i) mpu.raw[i] = v[i];
  } else if (sscanf(line, "battery %d", v) == 1) {
    /* The chip's converter rounds to 1/1024 of 5 V; simavr's cuts off to 1/1023. */
    const unsigned code = (v[0] * 1024u + 2500) / 5000;
    avr_raise_irq(battery, (code * 5000 + 1022) / 1023);
  } else if (sscanf(line, "pulses %d %d", v, v + 1) == 2) {
    pulses_left += v[0];
    pulses_after_us = v[1];
  } else if (sscanf(line, "pulses %d", v) == 1) {
    pulses_left += v[0];
    pulses_after_us = 0;
  } else if (sscanf(line, "sensor %d", v) == 1) {
    mpu.present = v[0];
    mpu_power_up();
  } else if (strncmp(line, "reset", 5) == 0) {
    avr_reset(avr);
    watch_pins();
  } else {
    fprintf(answers, "cannot read: %s", line);
    return;
  }
  fprintf(answers, "ok\n");
}

static void follow_wall_clock(void) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  mpu.raw[2] = 2048; /* one g upwards */
  for (;;) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t us = (now.tv_sec - start.tv_sec) * 1000000ull + (now.tv_nsec - start.tv_nsec) / 1000;
    if (us * CYCLES_PER_US > avr->cycle) {
      take_from_host();
      run_until(us * CYCLES_PER_US);
    }
    struct pollfd host = {.fd = pty, .events = POLLIN};
    poll(&host, 1, 1);
  }
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: emulator FIRMWARE.elf [--real-time]\n");
    return 2;
  }
  answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  open_pty();
  start_chip(argv[1]);
  if (argc > 2 && strcmp(argv[2], "--real-time") == 0) follow_wall_clock();
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    obey(line);
    fflush(answers);
  }
  return 0;
}
