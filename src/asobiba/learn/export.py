"""Policies in other formats: SB3's `.zip`, and ONNX for programs without PyTorch."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from asobiba.core.errors import MissingExtra
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.policy_file import PolicyFileError, arguments_of, learner_of, plain_arguments, save_policy

LEAST = -1e8
"""Score of an illegal action."""


class _Discrete(torch.nn.Module):
    def __init__(self, policy: Any):
        super().__init__()
        self.policy = policy
        self.agent = PolicyAgent(policy)

    def forward(self, observation: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = torch.cat([observation, mask], 1) if self.agent.reads_masks else observation
        scores = self.agent.logits(seen, None).masked_fill(mask == 0, LEAST)
        return scores.argmax(1), scores


class _Continuous(torch.nn.Module):
    def __init__(self, policy: Any):
        super().__init__()
        self.policy = policy
        self.low, self.high = (torch.as_tensor(bound) for bound in (policy.action_space.low, policy.action_space.high))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        action = self.policy._predict(observation, deterministic=True)
        if self.policy.squash_output:
            return self.low + 0.5 * (action + 1.0) * (self.high - self.low)
        return torch.minimum(torch.maximum(action, self.low), self.high)


def export_onnx(policy: Any, path: str | Path) -> None:
    """Writes a policy as an ONNX graph that chooses the best legal action, as `PolicyAgent` does.

    Its inputs are `observation` `(n, size)` float32 and, for discrete actions, `mask` `(n, num_actions)` float32; its
    outputs are `action` (`(n,)` int64, or `(n, size)` float32) and, for discrete actions, `scores` `(n, num_actions)`.

    Raises:
        PolicyFileError: for a policy with a memory.
        MissingExtra: if onnx is not installed.
    """
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise MissingExtra("onnx", "onnx") from None
    agent = PolicyAgent(policy)
    if agent.remembers or agent.completes:
        what = "remembers earlier observations" if agent.remembers else "has what it observes completed by a memory"
        raise PolicyFileError(f"{type(policy).__name__} {what}; only policies without a memory are exported")
    policy.set_training_mode(False)
    size = policy.observation_space.shape[0]
    discrete = hasattr(policy.action_space, "n")
    module = _Discrete(policy) if discrete else _Continuous(policy)
    inputs = {"observation": torch.zeros(2, size)}
    if discrete:
        actions = int(policy.action_space.n)
        inputs = {
            "observation": torch.zeros(2, size - (actions if agent.reads_masks else 0)),
            "mask": torch.ones(2, actions),
        }
    outputs = ["action", "scores"] if discrete else ["action"]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of the exporter: it is the one that needs no further package
        torch.onnx.export(
            module, tuple(inputs.values()), str(path), dynamo=False, input_names=list(inputs), output_names=outputs,
            dynamic_axes={name: {0: "n"} for name in (*inputs, *outputs)}, opset_version=17,
        )  # fmt: skip


def export_zip(policy: Any, path: str | Path) -> None:
    """Writes a policy as a model of SB3 or sb3-contrib, to be read with its class's `load`; it has no training state.

    Raises:
        PolicyFileError: for a policy that belongs to no learner.
    """
    kind = learner_of(policy)
    kwargs = plain_arguments(arguments_of(policy))
    sde = {"use_sde": kwargs.pop("use_sde")} if "use_sde" in kwargs else {}  # SB3 passes it on itself
    model = kind(type(policy), None, policy_kwargs=kwargs, device="cpu", _init_setup_model=False, **sde)
    model.observation_space, model.action_space, model.n_envs = policy.observation_space, policy.action_space, 1
    if hasattr(model, "buffer_size"):
        model.buffer_size = 1
    if hasattr(model, "target_entropy"):
        model.target_entropy = -float(policy.action_space.shape[0])  # else it is asked of an environment
    model._setup_model()
    model.policy.load_state_dict(policy.state_dict())
    model.save(path)


def export(policy: Any, path: Path) -> None:
    """Writes a policy in the format that the path's ending names.

    Raises:
        PolicyFileError: for an unknown ending, or a policy that this format cannot hold.
    """
    formats = {".safetensors": save_policy, ".zip": export_zip, ".onnx": export_onnx}
    if path.suffix not in formats:
        raise PolicyFileError(f"{path} ends in {path.suffix or 'nothing'}; expected one of {', '.join(formats)}")
    formats[path.suffix](policy, path)
