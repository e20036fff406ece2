"""Saved policies as networks of compiled code (`asobiba.core.networks`). Needs neither PyTorch nor Stable-Baselines3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core.networks import LINEAR, RELU, TANH, Network, NetworkBuilder
from asobiba.learn.policy_file import PolicyFileError, read_tensors

_ACTIVATIONS = {"torch.nn.modules.activation:ReLU": RELU, "torch.nn.modules.activation:Tanh": TANH}
_DENSE = ("asobiba.learn.networks:DensePolicy", "asobiba.learn.counts:CountsPolicy")
_BOARD = "asobiba.learn.networks:BoardPolicy"
_MOST_WEIGHTS = 1 << 20
"""Of convolutions as dense layers, 4 MiB: of larger boards PyTorch computes faster what is not 0."""
_PERCEPTRONS = (
    "sb3_contrib.common.maskable.policies:MaskableActorCriticPolicy",
    "stable_baselines3.common.policies:ActorCriticPolicy",
)


def load_network(path: str | Path) -> Network:
    """The network of a policy file of `asobiba.learn.policy_file.save_policy`.

    Raises:
        FileNotFoundError: if there is no such file.
        PolicyFileError: if it holds no policy, or one that compiled code does not play.
    """
    header, tensors = read_tensors(path)
    if "discrete" not in header.get("action_space", {}):
        raise PolicyFileError(f"{path} holds a policy over continuous actions; compiled code plays discrete ones")
    return network_of(header["class"], header.get("arguments", {}), tensors)


def network_of(kind: str, arguments: Mapping[str, object], tensors: Mapping[str, np.ndarray]) -> Network:
    """A network of a policy's class (`MODULE:CLASS`), its constructor's arguments, and its state dict as arrays.

    Raises:
        PolicyFileError: for a policy of other layers than dense ones or convolutions over a small board, or weights that do
            not fit together.
    """
    try:
        if kind in _DENSE:
            return _shared(tensors)
        if kind in _PERCEPTRONS:
            return _separate(tensors, _ACTIVATIONS.get(str(arguments.get("activation_fn", "")), TANH))
        if kind == _BOARD:
            return _board(arguments["channels"], tensors)
    except (KeyError, IndexError, ValueError) as error:
        raise PolicyFileError(f"the weights are not those of {kind}: {type(error).__name__}: {error}") from None
    raise PolicyFileError(
        f"compiled code plays {', '.join((*_DENSE, _BOARD, *_PERCEPTRONS))}, not {kind}; the agent sb3:FILE plays that"
    )


def _layers(
    tensors: Mapping[str, np.ndarray], prefix: str, activation: int
) -> list[tuple[np.ndarray, np.ndarray, int]]:
    numbers = sorted({int(name[len(prefix) + 1 :].split(".")[0]) for name in tensors if name.startswith(f"{prefix}.")})
    return [(tensors[f"{prefix}.{k}.weight"], tensors[f"{prefix}.{k}.bias"], activation) for k in numbers]


def _shared(tensors: Mapping[str, np.ndarray]) -> Network:
    torso = _layers(tensors, "mlp_extractor.torso", RELU)
    logits, bias = tensors["mlp_extractor.logits.weight"], tensors["mlp_extractor.logits.bias"]
    builder = NetworkBuilder(torso[0][0].shape[1])
    features = builder.chain(0, torso)
    policy = builder.dense(features, logits, bias, LINEAR)
    value = builder.dense(features, tensors["value_net.weight"], tensors["value_net.bias"], LINEAR)
    return builder.build(policy, len(bias), value)


def _separate(tensors: Mapping[str, np.ndarray], activation: int) -> Network:
    actor = _layers(tensors, "mlp_extractor.policy_net", activation)
    critic = _layers(tensors, "mlp_extractor.value_net", activation)
    last, value = ((tensors[f"{name}.weight"], tensors[f"{name}.bias"], LINEAR) for name in ("action_net", "value_net"))
    builder = NetworkBuilder((actor or [last])[0][0].shape[1])
    policy = builder.chain(0, [*actor, last])
    return builder.build(policy, len(last[1]), builder.chain(0, [*critic, value]))


def _board(channels: Any, tensors: Mapping[str, np.ndarray]) -> Network:
    """The actor of `asobiba.learn.networks.BoardPolicy`, each convolution as a dense layer: on a small board, a kernel reaches
    most of the cells anyway. There is no value: its greatest features over the board are no dense layer."""
    coordinates = tensors["mlp_extractor.coordinates"][0].astype(np.float64)
    board = coordinates.shape[1:]
    weights = [weight for weight, _, _ in _layers(tensors, "mlp_extractor.torso", RELU)]
    cells, width = math.prod(board), len(weights[0])
    logits, bias = tensors["mlp_extractor.logits.weight"], tensors["mlp_extractor.logits.bias"]
    actions = len(logits) * (cells if logits.ndim == 4 else 1)
    spread, constant = _planes({name: tuple(shape) for name, shape in channels.items()}, coordinates)
    inputs = spread.shape[1]
    size = width * cells * (inputs + (len(weights) - 1) * width * cells + actions)
    if size > _MOST_WEIGHTS:
        raise PolicyFileError(f"as dense layers, its convolutions over {board} cells would have {size:,} weights")
    torso = []
    for k, (weight, own, activation) in enumerate(_layers(tensors, "mlp_extractor.torso", RELU)):
        matrix, offset = _convolution(weight.astype(np.float64), board), np.repeat(own, cells)
        if k == 0:
            matrix, offset = matrix @ spread, offset + matrix @ constant
        torso.append((matrix.astype(np.float32), offset.astype(np.float32), activation))
    builder = NetworkBuilder(inputs)
    features = builder.chain(0, torso)
    if logits.ndim == 4:
        logits, bias = np.kron(logits[:, :, 0, 0], np.eye(cells, dtype=np.float32)), np.repeat(bias, cells)
    return builder.build(builder.dense(features, logits, bias, LINEAR), actions)


def _planes(channels: Mapping[str, tuple[int, ...]], coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix and a vector: all planes of the first convolution are `matrix @ observation + vector`."""
    board, cells = coordinates.shape[1:], math.prod(coordinates.shape[1:])
    inputs = sum(map(math.prod, channels.values()))
    whole, parts, start = np.eye(inputs), [], 0
    for shape in channels.values():
        rows = whole[start : start + math.prod(shape)]
        parts.append(rows if len(shape) >= 2 and shape[-2:] == board else np.repeat(rows, cells, 0))
        start += math.prod(shape)
    matrix = np.concatenate([*parts, np.zeros((coordinates.size, inputs))])
    return matrix, np.concatenate([np.zeros(len(matrix) - coordinates.size), coordinates.ravel()])


def _convolution(weight: np.ndarray, board: tuple[int, ...]) -> np.ndarray:
    """The matrix of a convolution of weights `(outputs, inputs, side, side)` that keeps the size of the board."""
    outputs, inputs, side, _ = weight.shape
    height, width = board
    matrix = np.zeros((outputs, height, width, inputs, height, width))
    for y, x in np.ndindex(height, width):
        for dy, dx in np.ndindex(side, side):
            to = y + dy - side // 2, x + dx - side // 2
            if 0 <= to[0] < height and 0 <= to[1] < width:
                matrix[:, y, x, :, to[0], to[1]] = weight[:, :, dy, dx]
    return matrix.reshape(outputs * height * width, inputs * height * width)
