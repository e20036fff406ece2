// What the program asks of a board, with ESP-IDF 5.3 or newer: clock, serial port, I2C, bridge, battery, tachometer; and the main loop.
#include "board.h"

#include <driver/gpio.h>
#include <driver/i2c_master.h>
#include <driver/ledc.h>
#include <esp_adc/adc_cali.h>
#include <esp_adc/adc_cali_scheme.h>
#include <esp_adc/adc_oneshot.h>
#include <esp_system.h>
#include <esp_task_wdt.h>
#include <esp_timer.h>
#include <fcntl.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <unistd.h>

#include "atomic.h"
#include "bridge.h"
#include "clock.h"
#include "imu.h"
#include "inputs.h"
#include "link.h"
#include "motor.h"
#include "profile.h"
#include "twi.h"
#include "uart.h"

portMUX_TYPE car_lock = portMUX_INITIALIZER_UNLOCKED;

namespace car_clock {

uint32_t milliseconds() { return static_cast<uint32_t>(esp_timer_get_time() / 1000); }
uint32_t microseconds() { return static_cast<uint32_t>(esp_timer_get_time()); }

// The motor's limits are kept by a timer, so that they hold even while the main loop waits for the sensor.
void begin() {
  static esp_timer_handle_t timer;
  esp_timer_create_args_t settings = {};
  settings.callback = [](void*) {
    ATOMIC { motor::every_millisecond(); }
  };
  settings.name = "limits";
  ESP_ERROR_CHECK(esp_timer_create(&settings, &timer));
  ESP_ERROR_CHECK(esp_timer_start_periodic(timer, 1000));
}

}  // namespace car_clock

namespace uart {

// The console is the serial port (USB where the chip has it): the program prints nothing else.
void begin() { fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK); }
bool read(uint8_t& byte) { return ::read(STDIN_FILENO, &byte, 1) == 1; }
uint8_t room() { return 255; }
void write(uint8_t byte) {
  const ssize_t taken = ::write(STDOUT_FILENO, &byte, 1);  // a port that nobody reads loses the byte
  (void)taken;
}

}  // namespace uart

namespace twi {

static i2c_master_bus_handle_t bus;
static i2c_master_dev_handle_t device;
static uint8_t device_address = 0;
constexpr int kPatienceMs = 4;

void begin() {
  if (bus) return;
  i2c_master_bus_config_t settings = {};
  settings.sda_io_num = static_cast<gpio_num_t>(kSda);
  settings.scl_io_num = static_cast<gpio_num_t>(kScl);
  settings.clk_source = I2C_CLK_SRC_DEFAULT;
  settings.glitch_ignore_cnt = 7;
  settings.flags.enable_internal_pullup = true;
  ESP_ERROR_CHECK(i2c_new_master_bus(&settings, &bus));
}

static bool choose(uint8_t address) {
  if (device_address == address) return true;
  if (device_address) i2c_master_bus_rm_device(device);
  i2c_device_config_t settings = {};
  settings.device_address = address;
  settings.scl_speed_hz = 400000;
  device_address = i2c_master_bus_add_device(bus, &settings, &device) == ESP_OK ? address : 0;
  return device_address != 0;
}

bool write_register(uint8_t address, uint8_t reg, uint8_t value) {
  const uint8_t bytes[2] = {reg, value};
  return choose(address) && i2c_master_transmit(device, bytes, 2, kPatienceMs) == ESP_OK;
}

bool read_registers(uint8_t address, uint8_t reg, uint8_t* out, uint8_t count) {
  return choose(address) && i2c_master_transmit_receive(device, &reg, 1, out, count, kPatienceMs) == ESP_OK;
}

}  // namespace twi

namespace bridge {

constexpr ledc_timer_bit_t kBits = LEDC_TIMER_11_BIT;  // 20 kHz of an 80 MHz clock
constexpr uint32_t kFull = 1u << 11;

static void set(ledc_channel_t channel, uint32_t share) {
  ledc_set_duty(LEDC_LOW_SPEED_MODE, channel, share);
  ledc_update_duty(LEDC_LOW_SPEED_MODE, channel);
}

void begin() {
  ledc_timer_config_t timer = {};
  timer.speed_mode = LEDC_LOW_SPEED_MODE;
  timer.duty_resolution = kBits;
  timer.timer_num = LEDC_TIMER_0;
  timer.freq_hz = 20000;
  timer.clk_cfg = LEDC_AUTO_CLK;
  ESP_ERROR_CHECK(ledc_timer_config(&timer));
  for (int k = 0; k < 2; ++k) {
    ledc_channel_config_t channel = {};
    channel.gpio_num = k ? kIn2 : kIn1;
    channel.speed_mode = LEDC_LOW_SPEED_MODE;
    channel.channel = static_cast<ledc_channel_t>(k);
    channel.timer_sel = LEDC_TIMER_0;
    channel.duty = kFull;
    ESP_ERROR_CHECK(ledc_channel_config(&channel));
  }
  drive(motor::kBrake, 0);
}

void drive(motor::Mode mode, uint16_t duty) {
  const uint32_t share = static_cast<uint32_t>(duty) * kFull / motor::kFullDuty;
  const ledc_channel_t driving = mode == motor::kReverse ? LEDC_CHANNEL_1 : LEDC_CHANNEL_0;
  const ledc_channel_t other = mode == motor::kReverse ? LEDC_CHANNEL_0 : LEDC_CHANNEL_1;
  if (mode == motor::kFree || mode == motor::kBrake) {
    set(driving, mode == motor::kBrake ? kFull : 0);
    set(other, mode == motor::kBrake ? kFull : 0);
  } else if (profile::kSlowDecay) {
    set(driving, kFull);
    set(other, kFull - share);
  } else {
    set(driving, share);
    set(other, 0);
  }
}

}  // namespace bridge

namespace inputs {

static adc_oneshot_unit_handle_t adc;
static adc_cali_handle_t calibration;
static volatile uint16_t pulses = 0;
static volatile uint32_t last_us = 0;

static void IRAM_ATTR on_pulse(void*) {
  pulses = pulses + 1;
  last_us = static_cast<uint32_t>(esp_timer_get_time());
}

void begin() {
  adc_oneshot_unit_init_cfg_t unit = {};
  unit.unit_id = ADC_UNIT_1;
  ESP_ERROR_CHECK(adc_oneshot_new_unit(&unit, &adc));
  adc_oneshot_chan_cfg_t channel = {};
  channel.atten = ADC_ATTEN_DB_12;
  channel.bitwidth = ADC_BITWIDTH_DEFAULT;
  ESP_ERROR_CHECK(adc_oneshot_config_channel(adc, static_cast<adc_channel_t>(kBatteryChannel), &channel));
#if ADC_CALI_SCHEME_CURVE_FITTING_SUPPORTED
  adc_cali_curve_fitting_config_t scheme = {};
  scheme.unit_id = ADC_UNIT_1;
  scheme.atten = ADC_ATTEN_DB_12;
  scheme.bitwidth = ADC_BITWIDTH_DEFAULT;
  ESP_ERROR_CHECK(adc_cali_create_scheme_curve_fitting(&scheme, &calibration));
#else
  adc_cali_line_fitting_config_t scheme = {};
  scheme.unit_id = ADC_UNIT_1;
  scheme.atten = ADC_ATTEN_DB_12;
  scheme.bitwidth = ADC_BITWIDTH_DEFAULT;
  ESP_ERROR_CHECK(adc_cali_create_scheme_line_fitting(&scheme, &calibration));
#endif
  gpio_config_t pin = {};
  pin.pin_bit_mask = 1ull << kTachometer;
  pin.mode = GPIO_MODE_INPUT;
  pin.pull_up_en = GPIO_PULLUP_ENABLE;
  pin.intr_type = GPIO_INTR_POSEDGE;
  ESP_ERROR_CHECK(gpio_config(&pin));
  ESP_ERROR_CHECK(gpio_install_isr_service(0));
  ESP_ERROR_CHECK(gpio_isr_handler_add(static_cast<gpio_num_t>(kTachometer), on_pulse, nullptr));
}

uint16_t battery_millivolts() {
  int raw = 0, millivolts = 0;
  adc_oneshot_read(adc, static_cast<adc_channel_t>(kBatteryChannel), &raw);
  adc_cali_raw_to_voltage(calibration, raw, &millivolts);
  return static_cast<uint16_t>(2 * millivolts);  // behind a divider by two
}

Tachometer tachometer() {
  Tachometer now;
  ATOMIC { now = {pulses, last_us}; }
  return now;
}

}  // namespace inputs

extern "C" void app_main() {
  motor::begin();
  uart::begin();
  car_clock::begin();
  inputs::begin();
  car_link::begin(static_cast<uint8_t>(esp_reset_reason()));
  imu::begin();
  esp_task_wdt_add(nullptr);  // a program that hangs restarts, and a restart brakes
  uint32_t next = car_clock::milliseconds();
  for (;;) {
    esp_task_wdt_reset();
    car_link::receive();
    if (static_cast<int32_t>(car_clock::milliseconds() - next) >= 0) {
      next += profile::kTelemetryPeriodMs;
      car_link::send_telemetry();
    }
    vTaskDelay(1);  // CONFIG_FREERTOS_HZ=1000
  }
}
