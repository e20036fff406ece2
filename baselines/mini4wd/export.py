"""A trained policy as integers for the car's chip: `firmware/mini4wd/policy`.

It starts from the description of a network that compiled code plays (`asobiba.core.networks`). Inputs and weights become 8
bits and hidden activations 16, each layer with a power of two for its scale; sums are 32 bits. `IntegerPolicy` computes
the same results as the C code, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core import GameParameterError
from asobiba.core.networks import LINEAR, RELU, Network, NetworkBuilder

INPUT_BITS, HIDDEN_BITS, OUTPUT_BITS = 5, 8, 12
"""Activations are kept times two to this power: inputs up to 4, hidden ones up to 127, outputs up to 7."""


@dataclass(frozen=True)
class Layer:
    """`weights` `(outputs, inputs)` int8, `bias` `(outputs,)` int32, and by how many bits a sum is shifted right."""

    weights: np.ndarray
    bias: np.ndarray
    shift: int


@dataclass(frozen=True)
class IntegerPolicy:
    """An actor as integers.

    Args:
        offsets, factors: scale an observation to the network's inputs, `(size,)`.
        layers: three.
    """

    offsets: np.ndarray
    factors: np.ndarray
    layers: tuple[Layer, ...]

    def inputs(self, observations: np.ndarray) -> np.ndarray:
        """Observations `(n, size)` as the network's inputs times 32, int8."""
        scaled = np.clip((np.asarray(observations, float) - self.offsets) * self.factors, -4.0, 4.0)
        return np.clip(np.floor(scaled * 2**INPUT_BITS + 0.5), -127, 127).astype(np.int8)

    def step(self, inputs: np.ndarray) -> np.ndarray:
        """Inputs `(n, size)` int8 to outputs `(n, actions)` int16, times 4096."""
        values = inputs.astype(np.int64)
        for number, layer in enumerate(self.layers):
            sums = values @ layer.weights.T.astype(np.int64) + layer.bias
            values = np.clip((sums + (1 << layer.shift >> 1)) >> layer.shift, -32768, 32767)
            if number + 1 < len(self.layers):
                values = np.maximum(values, 0)
        return values.astype(np.int16)

    def act(self, observations: np.ndarray) -> np.ndarray:
        """Observations `(n, size)` to actions `(n, actions)` in [-1, 1]."""
        return np.clip(self.step(self.inputs(observations)) / 2.0**OUTPUT_BITS, -1.0, 1.0).astype(np.float32)

    @property
    def size(self) -> int:
        """Bytes of weights and biases."""
        return sum(layer.weights.size + 4 * layer.bias.size for layer in self.layers)

    def header(self) -> str:
        """`policy_weights.h`."""
        first, second, third = self.layers
        lines = [
            "/* Written by `asobiba mini4wd export`. */",
            f"#define POLICY_INPUTS {first.weights.shape[1]}",
            f"#define POLICY_HIDDEN_1 {len(first.bias)}",
            f"#define POLICY_HIDDEN_2 {len(second.bias)}",
            f"#define POLICY_OUTPUTS {len(third.bias)}",
        ]
        for number, layer in enumerate(self.layers, 1):
            lines.append(f"#define POLICY_SHIFT_{number} {layer.shift}")
            for kind, name, values in (("int8_t", "weights", layer.weights.ravel()), ("int32_t", "bias", layer.bias)):
                numbers = ",".join(map(str, values.tolist()))
                lines.append(f"static const {kind} {name}_{number}[{len(values)}] PROGMEM = {{{numbers}}};")
        return "\n".join(lines) + "\n"


def _layer(weight: np.ndarray, bias: np.ndarray, bits_in: int, bits_out: int) -> Layer:
    # The largest power of two at which every weight fits into a byte; the shift must not become negative.
    most = max(float(np.abs(weight).max()), 1e-6)
    bits = min(math.floor(math.log2(127.0 / most)), 14)
    bits = max(bits, bits_out - bits_in)
    if most * 2.0**bits > 127.5:
        raise GameParameterError(f"a weight of {most:g} does not fit into eight bits at the scale that the layer needs")
    return Layer(
        np.clip(np.floor(weight * 2.0**bits + 0.5), -127, 127).astype(np.int8),
        np.floor(bias * 2.0 ** (bits + bits_in) + 0.5).astype(np.int32),
        bits + bits_in - bits_out,
    )


def actor_network(policy: Any) -> Network:
    """The actor of a `network.CarPolicy` as compiled code computes it, from scaled inputs; its actions stand at `policy`.

    Raises:
        GameParameterError: for a policy of another kind.
    """
    from asobiba.baselines.mini4wd.network import CarPolicy

    if not isinstance(policy, CarPolicy):
        raise GameParameterError(
            f"the policy is a {type(policy).__name__}; only asobiba.baselines.mini4wd.network:CarPolicy can be exported"
        )
    return actor_of({name: tensor.detach().numpy() for name, tensor in policy.state_dict().items()})


def actor_of(tensors: Mapping[str, np.ndarray]) -> Network:
    """As `actor_network`, from the arrays of such a policy; needs no PyTorch."""
    prefix = "mlp_extractor.policy_net."
    hidden = sorted({int(name[len(prefix) :].partition(".")[0]) for name in tensors if name.startswith(prefix)})
    names = [*(f"{prefix}{k}" for k in hidden), "action_net"]
    layers = [(tensors[f"{name}.weight"], tensors[f"{name}.bias"]) for name in names]
    builder = NetworkBuilder(layers[0][0].shape[1])
    kinds = [RELU] * (len(layers) - 1) + [LINEAR]
    head = builder.chain(0, [(*layer, kind) for layer, kind in zip(layers, kinds, strict=True)])
    return builder.build(head, len(layers[-1][1]), head)


def integer_policy(policy: Any) -> IntegerPolicy:
    """The actor of a `network.CarPolicy` as integers.

    Raises:
        GameParameterError: for a policy of another kind, or one whose weights do not fit.
    """
    dense = actor_network(policy).dense()
    bits = (INPUT_BITS, HIDDEN_BITS, HIDDEN_BITS, OUTPUT_BITS)
    layers = tuple(_layer(w.astype(float), b.astype(float), bits[k], bits[k + 1]) for k, (w, b, _) in enumerate(dense))
    scaled = policy.pi_features_extractor
    return IntegerPolicy(scaled.offsets.numpy().astype(float), scaled.factors.numpy().astype(float), layers)


def export(source: str | Path, folder: str | Path) -> IntegerPolicy:
    """Writes `policy_weights.h` for a saved policy into a folder.

    Raises:
        GameParameterError: for a policy of another kind.
        FileNotFoundError: if there is no such file.
    """
    from asobiba.learn.agent import load_policy

    found = integer_policy(load_policy(source))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy_weights.h").write_text(found.header(), encoding="utf-8")
    return found
