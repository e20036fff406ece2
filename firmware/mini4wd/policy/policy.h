/* A trained policy as integers, in plain C: `asobiba mini4wd export` writes its weights (policy_weights.h).
 *
 * The observation comes in as the network's scaled inputs times 32 (see baselines/mini4wd/export.py), duty and mode selector
 * go out times 4096. Layers are linear with ReLU between; inputs and weights are 8 bits, hidden activations 16, sums 32. */
#ifndef MINI4WD_POLICY_H
#define MINI4WD_POLICY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { POLICY_INPUT_ONE = 32, POLICY_OUTPUT_ONE = 4096 };

uint16_t policy_inputs(void);
uint8_t policy_outputs(void);

/* One step: `input` has policy_inputs() values, `output` takes policy_outputs(). */
void policy_step(const int8_t *input, int16_t *output);

#ifdef __cplusplus
}
#endif
#endif
