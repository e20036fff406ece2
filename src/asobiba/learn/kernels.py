"""Saved policies as networks of compiled code (`asobiba.core.networks`). Needs neither PyTorch nor Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from asobiba.core.networks import LINEAR, RELU, TANH, Network, NetworkBuilder
from asobiba.learn.policy_file import PolicyFileError, read_tensors

_ACTIVATIONS = {"torch.nn.modules.activation:ReLU": RELU, "torch.nn.modules.activation:Tanh": TANH}
_DENSE = ("asobiba.learn.networks:DensePolicy", "asobiba.learn.counts:CountsPolicy")
_PERCEPTRONS = (
    "sb3_contrib.common.maskable.policies:MaskableActorCriticPolicy",
    "stable_baselines3.common.policies:ActorCriticPolicy",
)


def load_network(path: str | Path) -> Network:
    """The network of a policy file of `asobiba.learn.policy_file.save_policy`.

    Raises:
        FileNotFoundError: if there is no such file.
        PolicyFileError: if it holds no policy, or one whose layers are not all dense.
    """
    header, tensors = read_tensors(path)
    if "discrete" not in header.get("action_space", {}):
        raise PolicyFileError(f"{path} holds a policy over continuous actions; compiled code plays discrete ones")
    return network_of(header["class"], header.get("arguments", {}), tensors)


def network_of(kind: str, arguments: Mapping[str, object], tensors: Mapping[str, np.ndarray]) -> Network:
    """A network of a policy's class (`MODULE:CLASS`), its constructor's arguments, and its state dict as arrays.

    Raises:
        PolicyFileError: for a policy whose layers are not all dense, or weights that do not fit together.
    """
    try:
        if kind in _DENSE:
            return _shared(tensors)
        if kind in _PERCEPTRONS:
            return _separate(tensors, _ACTIVATIONS.get(str(arguments.get("activation_fn", "")), TANH))
    except (KeyError, IndexError, ValueError) as error:
        raise PolicyFileError(f"the weights are not those of {kind}: {type(error).__name__}: {error}") from None
    raise PolicyFileError(
        f"compiled code plays {' and '.join((*_DENSE, *_PERCEPTRONS))}, not {kind}; the agent sb3:FILE plays that"
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
