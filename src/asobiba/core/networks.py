"""Small networks as kernels: dense layers over one scratch array of float32, with one order of additions.

A `Network` is a description: a list of layers, each of which reads one slice of the scratch array and writes another,
and all weights in one array. PyTorch modules are converted to it (`asobiba.learn.kernels`); compiled code evaluates it.

The sum of a unit begins with its bias and takes the inputs in their order. Inputs that are 0 are skipped, which changes
no sum and saves most of the first layer on boards, and half of each layer after a ReLU. So the result does not depend
on the number of units that the processor computes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import float32, float64, int64

from asobiba.core.elementary import tanh
from asobiba.core.kernels import kernel
from asobiba.core.record import record_dtype

LINEAR, RELU, TANH = 0, 1, 2
"""Activation of a layer."""
LEAST = 1e-12
"""Weights nearer to 0 than this become 0. Weight decay shrinks unused weights to denormal numbers, with which many processors
compute ten times slower; weights that are left lead to such numbers only after more than three layers."""

LAYER = record_dtype(
    [(name, np.int64) for name in ("source", "inputs", "target", "outputs", "weights", "bias", "activation")]
)
"""One dense layer: the places in the scratch array that it reads and writes, and those of its weights `(inputs,
outputs)` and biases `(outputs,)`."""


@dataclass(frozen=True)
class Network:
    """A network for compiled code.

    Attributes:
        layers: `(k,)` records of `LAYER`, in the order in which they are computed.
        weights: all weights and biases, float32.
        inputs: length of the observation, at the start of the scratch array.
        size: length of the scratch array.
        policy: the place of the first logit; there are `actions` of them.
        value: the place of the value; -1: there is none.
    """

    layers: np.ndarray
    weights: np.ndarray
    inputs: int
    size: int
    policy: int
    actions: int
    value: int

    def dense(self) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """Every layer's weights `(outputs, inputs)`, biases `(outputs,)` and activation, as `NetworkBuilder.dense` took them."""
        found = []
        for layer in self.layers:
            inputs, outputs, at, bias = (int(layer[name]) for name in ("inputs", "outputs", "weights", "bias"))
            matrix = self.weights[at : at + inputs * outputs].reshape(inputs, outputs)
            found.append((matrix.T, self.weights[bias : bias + outputs], int(layer["activation"])))
        return found


class NetworkBuilder:
    """Puts a `Network` together, layer by layer.

    Args:
        inputs: length of the observation.
    """

    def __init__(self, inputs: int):
        self.inputs, self._size = inputs, inputs
        self._widths = {0: inputs}  # size of the slice at each place of the scratch array
        self._layers: list[tuple[int, ...]] = []
        self._weights: list[np.ndarray] = []
        self._used = 0

    def dense(self, source: int, weight: np.ndarray, bias: np.ndarray, activation: int) -> int:
        """Adds a layer that reads at `source`; returns the place of its outputs.

        Args:
            weight: `(outputs, inputs)`, as PyTorch keeps it.
            bias: `(outputs,)`.
            activation: `LINEAR`, `RELU` or `TANH`.

        Raises:
            ValueError: for shapes that do not fit the slice at `source`.
        """
        if weight.ndim != 2 or bias.shape != weight.shape[:1] or weight.shape[1] != self._widths.get(source):
            raise ValueError(f"a layer of weights {weight.shape} and biases {bias.shape} does not fit at {source}")
        outputs, inputs = weight.shape
        target, self._size = self._size, self._size + outputs
        self._widths[target] = outputs
        at = self._used
        self._weights += [np.ascontiguousarray(weight.T, np.float32).ravel(), np.asarray(bias, np.float32)]
        self._used += weight.size + bias.size
        self._layers.append((source, inputs, target, outputs, at, at + weight.size, activation))
        return target

    def chain(self, source: int, layers: Sequence[tuple[np.ndarray, np.ndarray, int]]) -> int:
        """Adds layers one after another; returns the place of the last one's outputs."""
        for weight, bias, activation in layers:
            source = self.dense(source, weight, bias, activation)
        return source

    def build(self, policy: int, actions: int, value: int = -1) -> Network:
        """The network, whose logits and value stand at these places; -1: it has no value.

        Raises:
            ValueError: if no layer writes there.
        """
        if not 0 < actions <= self._size - policy or not -1 <= value < self._size:
            raise ValueError(f"{actions} logits at {policy} and a value at {value} are not among {self._size} numbers")
        layers = np.zeros(len(self._layers), LAYER)
        for k, values in enumerate(self._layers):
            layers[k] = values
        weights = np.concatenate(self._weights)
        weights[np.abs(weights) < LEAST] = 0
        return Network(layers, weights, self.inputs, self._size, policy, actions, value)


@kernel
def forward(layers, weights, scratch, active):
    """Computes all layers in the scratch array `(size,)` float32, whose first entries hold the observation.

    `active` (int64, at least as long as the widest layer) is room for the indices of inputs that are not 0.
    """
    for k in range(layers.shape[0]):
        layer = layers[k]
        count = int64(0)
        for i in range(layer.inputs):
            active[count] = i  # no branch: a processor would guess half of them wrong
            count += scratch[layer.source + i] != 0
        outputs = layer.outputs
        out = scratch[layer.target : layer.target + outputs]
        for j in range(outputs):  # a slice's assignment would bring code that writes messages about wrong lengths
            out[j] = weights[layer.bias + j]
        matrix, source = layer.weights, layer.source
        n = int64(0)
        while n + 4 <= count:
            # Four inputs at a time, so that a unit's sum is loaded and stored once for all four.
            a, b, c, d = active[n], active[n + 1], active[n + 2], active[n + 3]
            xa, xb, xc, xd = scratch[source + a], scratch[source + b], scratch[source + c], scratch[source + d]
            wa = weights[matrix + a * outputs : matrix + (a + 1) * outputs]
            wb = weights[matrix + b * outputs : matrix + (b + 1) * outputs]
            wc = weights[matrix + c * outputs : matrix + (c + 1) * outputs]
            wd = weights[matrix + d * outputs : matrix + (d + 1) * outputs]
            for j in range(out.shape[0]):
                out[j] = (((out[j] + xa * wa[j]) + xb * wb[j]) + xc * wc[j]) + xd * wd[j]
            n += 4
        while n < count:
            a = active[n]
            xa = scratch[source + a]
            wa = weights[matrix + a * outputs : matrix + (a + 1) * outputs]
            for j in range(out.shape[0]):
                out[j] += xa * wa[j]
            n += 1
        if layer.activation == RELU:
            for j in range(out.shape[0]):
                if not out[j] > 0:
                    out[j] = float32(0.0)
        elif layer.activation == TANH:
            for j in range(out.shape[0]):
                out[j] = float32(tanh(float64(out[j])))
