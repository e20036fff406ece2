#include "policy.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#define WEIGHT(p) ((int8_t)pgm_read_byte(p))
#define BIAS(p) ((int32_t)pgm_read_dword(p))
#else
#define PROGMEM
#define WEIGHT(p) (*(p))
#define BIAS(p) (*(p))
#endif

#include "policy_weights.h"

/* out[j] = (sum_i weight[j][i] in[i] + bias[j]) >> shift, rounded, saturated to 16 bits. */
static int16_t rounded(int32_t sum, uint8_t shift) {
  sum = (sum + ((int32_t)1 << shift >> 1)) >> shift;
  return sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : (int16_t)sum;
}

/* The first layer has most of the weights: products of bytes fit two bytes, which the chip multiplies in two cycles. */
static void first_layer(const int8_t *in, int16_t *out) {
  const int8_t *weights = weights_1;
  for (uint8_t j = 0; j < POLICY_HIDDEN_1; ++j) {
    int32_t sum = BIAS(bias_1 + j);
    const int8_t *x = in;
    for (uint16_t i = POLICY_INPUTS; i; --i) sum += (int16_t)(*x++ * WEIGHT(weights++));
    out[j] = rounded(sum, POLICY_SHIFT_1);
    if (out[j] < 0) out[j] = 0;
  }
}

static void layer(const int16_t *in, uint8_t inputs, int16_t *out, uint8_t outputs, const int8_t *weights, const int32_t *bias,
                  uint8_t shift, uint8_t rectify) {
  for (uint8_t j = 0; j < outputs; ++j) {
    int32_t sum = BIAS(bias + j);
    for (uint8_t i = 0; i < inputs; ++i) sum += (int32_t)in[i] * (int16_t)WEIGHT(weights++);
    out[j] = rounded(sum, shift);
    if (rectify && out[j] < 0) out[j] = 0;
  }
}

uint16_t policy_inputs(void) { return POLICY_INPUTS; }
uint8_t policy_outputs(void) { return POLICY_OUTPUTS; }

void policy_step(const int8_t *input, int16_t *output) {
  int16_t first[POLICY_HIDDEN_1], second[POLICY_HIDDEN_2];
  first_layer(input, first);
  layer(first, POLICY_HIDDEN_1, second, POLICY_HIDDEN_2, weights_2, bias_2, POLICY_SHIFT_2, 1);
  layer(second, POLICY_HIDDEN_2, output, POLICY_OUTPUTS, weights_3, bias_3, POLICY_SHIFT_3, 0);
}
