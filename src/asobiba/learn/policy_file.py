"""Policies in files that hold data only: weights as safetensors, the rest as YAML in the same file's header.

A zip of Stable-Baselines3's own format holds pickles, and reading them runs arbitrary code; such a file is read only
with explicit consent.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from gymnasium import spaces

from asobiba.core.agents import AGENTS
from asobiba.core.errors import AsobibaError, MissingExtra
from asobiba.core.game import Ruleset
from asobiba.core.installed import entry_points
from asobiba.core.registry import GROUP as GAMES
from asobiba.core.yaml_text import read_yaml
from asobiba.protocols import sandbox

__all__ = [
    "PolicyFileError",
    "load_policy",
    "save_policy",
]

SUFFIX = ".safetensors"
_HEADER = "policy.yml"
_LEAST = 1 << 22
"""Number of weights that any policy may allocate while it is built, however short its file is."""
_HOMES = ("asobiba.", "sb3_contrib.", "stable_baselines3.")
"""Packages whose policy classes a file may name, besides those that provide games and agents (`_homes`)."""
_FORMAT = 1


class PolicyFileError(AsobibaError, ValueError):
    """Raised for a file that holds no policy for this game."""


def save_policy(policy: Any, path: str | Path) -> None:
    """Saves a policy of Stable-Baselines3 for playing: no optimiser, no pickle.

    Args:
        policy: its class is asobiba's, sb3-contrib's, Stable-Baselines3's, or from an installed package that provides
            games or agents.
        path: ends in `.safetensors`.

    Raises:
        PolicyFileError: for a policy of another class, with settings that are not plain data, for one that no agent could
            play, or for another suffix.
    """
    from safetensors.torch import save_file

    path, kind = Path(path), type(policy)
    if path.suffix != SUFFIX:
        raise PolicyFileError(f"a policy is saved to a {SUFFIX} file, not to {path.name!r}")
    if not f"{kind.__module__}.".startswith(_homes()):
        raise PolicyFileError(f"{kind.__module__}.{kind.__qualname__} belongs to none of {', '.join(_homes())}")
    _require_playable(policy)
    header = {
        "format": _FORMAT,
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "observation_space": _space(policy.observation_space),
        "action_space": _space(policy.action_space),
        "arguments": arguments_of(policy),
    }
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in policy.state_dict().items()}
    _require_rebuilt(header, tensors, policy)
    save_file(tensors, path, metadata={_HEADER: yaml.safe_dump(header, sort_keys=False)})


def _require_playable(policy: Any) -> None:
    """Raises `PolicyFileError` for a policy that `asobiba.learn.agent.PolicyAgent` cannot play, by its name."""
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from sb3_contrib.crossq.policies import CrossQPolicy
    from sb3_contrib.qrdqn.policies import QRDQNPolicy
    from sb3_contrib.tqc.policies import TQCPolicy
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import DQNPolicy
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import TD3Policy

    actors = (ActorCriticPolicy, MaskableActorCriticPolicy)
    playable = (*actors, DQNPolicy, QRDQNPolicy, SACPolicy, TD3Policy, TQCPolicy, CrossQPolicy)
    name = f"{type(policy).__module__}.{type(policy).__qualname__}"
    if not isinstance(policy, playable):
        raise PolicyFileError(
            f"{name} cannot be played: known are policies of {', '.join(kind.__name__ for kind in playable)}"
        )
    if len(policy.observation_space.shape or ()) != 1:
        raise PolicyFileError(f"{name} reads observations {policy.observation_space.shape}; agents play flat ones")


def _require_rebuilt(header: dict[str, Any], tensors: dict[str, Any], policy: Any) -> None:
    """Raises `PolicyFileError` if what is written would not make the policy again."""
    module, _, name = header["class"].partition(":")
    arguments = plain_arguments(header["arguments"])
    spaces_ = _to_space(header["observation_space"]), _to_space(header["action_space"])
    try:
        again = getattr(importlib.import_module(module), name)(*spaces_, lr_schedule=lambda _: 0.0, **arguments)
    except (TypeError, ValueError, AttributeError) as error:
        raise PolicyFileError(f"{header['class']} cannot be built again from its settings: {error}") from error
    extractors: list[Any] = [getattr(one, "features_extractor_class", None) for one in (again, policy)]
    if extractors[0] is not extractors[1]:
        raise PolicyFileError(f"{header['class']} cannot be saved with its features extractor {extractors[1].__name__}")
    shapes, wanted = ({key: tuple(t.shape) for key, t in each.items()} for each in (again.state_dict(), tensors))
    if shapes != wanted:
        odd = sorted(set(shapes.items()) ^ set(wanted.items()))[0][0]
        raise PolicyFileError(f"{header['class']} cannot be saved: built again from its settings it has another {odd}")


def load_policy(path: str | Path, trust: bool = False) -> Any:
    """Loads a policy, ready to predict.

    Args:
        path: a file of `save_policy`, or a zip that MaskablePPO or PPO saved.
        trust: whether to read a zip, which runs arbitrary code. Files of asobiba's own packages, and of installed ones
            that provide agents, need no consent.

    Raises:
        FileNotFoundError: if there is no such file.
        PolicyFileError: if it holds no policy, or is a zip without consent.
        MissingExtra: if the extra `sb3` is not installed.
    """
    try:
        import sb3_contrib  # noqa: F401
        import stable_baselines3  # noqa: F401
    except ImportError as error:
        raise MissingExtra("stable-baselines3 with sb3-contrib", "sb3") from error
    file = _existing(path)
    if file.suffix == SUFFIX:
        return _load_plain(file)
    if not (trust or sandbox.consented() or _ours(file)):
        raise PolicyFileError(
            f"{file} is a zip of pickles, and reading it runs whatever it says. If you know where it comes from, say so: "
            f"--trust sb3 on the command line, load_policy(path, trust=True) in Python; or turn it into a {SUFFIX} file "
            "with asobiba.learn.policy_file.save_policy"
        )
    return _load_zip(file)


@dataclass(frozen=True)
class PolicyFile:
    """A policy on disk of which only the header has been read: its spaces are known before memory is allocated.

    Attributes:
        path: the file.
        observation_space, action_space: those of the policy.
        channels: name -> shape of the observation channels that it reads, where it knows them.
        reads_masks: whether the mask stands at the end of what it observes; recurrent: whether it remembers.
        memory: the class MODULE:CLASS of the memory that gives it the channel `memory`; "" for none, or for one that only
            the policy's own class knows.
    """

    path: Path
    observation_space: spaces.Space
    action_space: spaces.Space
    channels: dict[str, tuple[int, ...]]
    reads_masks: bool = False
    recurrent: bool = False
    memory: str = ""

    def fits(self, ruleset: Ruleset) -> bool:
        """Whether its spaces are those of these rules, what it remembers aside."""
        remembered = math.prod(self.channels.get("memory", (0,)))
        return self.observation_space.shape == (ruleset.observation_size + remembered,) and (
            self.action_space == ruleset.action_space
        )

    def load(self) -> Any:
        """The policy, as `load_policy`."""
        return load_policy(self.path)


def open_policy(path: str | Path) -> Any:
    """The header of a file of `save_policy`, or the policy of a zip, which has none.

    Raises:
        FileNotFoundError, PolicyFileError, MissingExtra: as `load_policy`.
    """
    return open_header(path) if Path(path).suffix == SUFFIX else load_policy(path)


def open_header(path: str | Path) -> PolicyFile:
    """The header of a file of `save_policy`; needs no PyTorch.

    Raises:
        FileNotFoundError, PolicyFileError, MissingExtra: as `read_tensors`.
    """
    file = _existing(path)
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise MissingExtra("safetensors", "sb3") from error
    try:
        with safe_open(file, framework="np") as opened:
            header = _header_of(file, opened)
        observed, actions = _spaces_of(file, header)
        channels = {str(key): tuple(map(int, shape)) for key, shape in header["arguments"].get("channels", {}).items()}
        masked = str(header["class"]).startswith("asobiba.learn.masked:")
        recurrent, memory = "lstm_hidden_size" in header["arguments"], _memory_of(file, header)
        return PolicyFile(file, observed, actions, channels, masked, recurrent, memory)
    except (SafetensorError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, PolicyFileError):
            raise
        raise PolicyFileError(f"{file} is not a policy file: {type(error).__name__}: {error}") from None


def _existing(path: str | Path) -> Path:
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no policy file at {file}: expected one that asobiba train or save_policy has written")
    return file


def _header_of(file: Path, opened: Any) -> dict[str, Any]:
    header = _read_header((opened.metadata() or {}).get(_HEADER, ""))
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise PolicyFileError(f"{file} holds weights, but not what asobiba writes beside them")
    return header


def _spaces_of(file: Path, header: dict[str, Any]) -> tuple[spaces.Space, spaces.Space]:
    for name in ("observation_space", "action_space"):
        _require_small(file, header[name])
    return _to_space(header["observation_space"]), _to_space(header["action_space"])


def read_tensors(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header of a file of `save_policy` and its tensors as arrays, without PyTorch.

    Raises:
        FileNotFoundError: if there is no such file.
        PolicyFileError: if it holds no policy.
        MissingExtra: if safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise MissingExtra("safetensors", "sb3") from error
    file = _existing(path)
    try:
        with safe_open(file, framework="np") as opened:
            header = _header_of(file, opened)
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, yaml.YAMLError) as error:
        raise PolicyFileError(f"{file} is not a policy file: {type(error).__name__}: {error}") from None
    return header, tensors


def _load_plain(file: Path) -> Any:
    import torch
    from safetensors import SafetensorError, safe_open
    from stable_baselines3.common.policies import BasePolicy

    try:
        with safe_open(file, framework="pt") as opened:
            header = _header_of(file, opened)
        module, _, name = header["class"].partition(":")
        if not f"{module}.".startswith(_homes()) or not name.isidentifier():
            raise PolicyFileError(f"{file} names the class {header['class']!r}, which belongs to none of {_homes()}")
        kind = getattr(importlib.import_module(module), name)
        if not (isinstance(kind, type) and issubclass(kind, BasePolicy)):
            raise PolicyFileError(f"{file} names {header['class']!r}, which is not a policy of Stable-Baselines3")
        _memory_of(file, header)
        arguments = plain_arguments(header["arguments"])
        observed, actions = _spaces_of(file, header)

        def build() -> Any:
            return kind(observed, actions, lr_schedule=lambda _: 0.0, **arguments)

        policy = _build_within(file, build)
        with safe_open(file, framework="pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
        policy.load_state_dict(tensors)
    except (
        SafetensorError,
        yaml.YAMLError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
        MemoryError,
        OverflowError,
        NotImplementedError,
    ) as error:
        if isinstance(error, PolicyFileError):
            raise
        raise PolicyFileError(f"{file} is not a policy file: {type(error).__name__}: {error}") from None
    policy.to(torch.device("cpu"))
    policy.set_training_mode(False)
    return policy


def _build_within(file: Path, build: Callable[[], Any]) -> Any:
    """The result of `build`, unless it asks for more memory than the weights of a file of this size can need."""
    import torch
    from torch.overrides import TorchFunctionMode

    makers = {torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.eye}

    class Bounded(TorchFunctionMode):
        left = _LEAST + 4 * file.stat().st_size

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function in makers:
                given = (kwargs or {}).get("size", args[0] if args and isinstance(args[0], (tuple, list)) else args)
                self.left -= math.prod(size for size in given if isinstance(size, int))
                if self.left < 0:
                    raise PolicyFileError(f"{file} describes a larger network than the one whose weights it holds")
            return function(*args, **(kwargs or {}))

    with Bounded():
        return build()


def _read_header(text: str) -> Any:
    """The header as plain values. Raises `PolicyFileError` for one with aliases, which may unfold without end."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
        raise PolicyFileError("the header of a policy file has no aliases")
    return read_yaml(text)


def _require_small(file: Path, space: dict[str, Any]) -> None:
    """Refuses a space with more dimensions than the file has bytes: each takes at least one number of the file."""
    sizes = [int(space["discrete"])] if "discrete" in space else [int(size) for size in space["box"]]
    if min(sizes, default=1) < 0 or math.prod(sizes) > file.stat().st_size:
        raise PolicyFileError(
            f"{file} has {file.stat().st_size} bytes and describes a space of {' x '.join(map(str, sizes))} numbers; no "
            "network of that size reads or answers so many"
        )


_LEARNERS = (
    "sb3_contrib:MaskablePPO", "sb3_contrib:RecurrentPPO", "stable_baselines3:PPO", "sb3_contrib:QRDQN",
    "stable_baselines3:DQN", "sb3_contrib:CrossQ", "sb3_contrib:TQC", "stable_baselines3:SAC", "stable_baselines3:TD3",
)  # fmt: skip
"""The learners whose policies are played; the more special ones come first."""


def _learners() -> list[Any]:
    pairs = (text.partition(":") for text in _LEARNERS)
    return [getattr(importlib.import_module(module), name) for module, _, name in pairs]


def learner_of(policy: Any) -> Any:
    """The class of SB3 or sb3-contrib that learns such policies.

    Raises:
        PolicyFileError: if none does.
    """
    for learner in _learners():
        kinds = tuple(kind for name, kind in learner.policy_aliases.items() if name.startswith("Mlp"))
        if isinstance(policy, kinds):
            own = f"Masked{learner.__name__}"
            return (
                getattr(importlib.import_module("asobiba.learn.masked"), own, learner) if _masked(policy) else learner
            )
    raise PolicyFileError(f"no learner of SB3 or sb3-contrib has policies like {type(policy).__name__}")


def _masked(policy: Any) -> bool:
    return bool(getattr(policy, "reads_masks", False))


def _load_zip(file: Path) -> Any:
    problems = []
    for algorithm in _learners():
        try:
            policy = algorithm.load(file, device="cpu", custom_objects={"buffer_size": 1}).policy
        except Exception as error:
            problems.append(f"{algorithm.__name__}: {error}")
            continue
        policy.set_training_mode(False)
        return policy
    raise PolicyFileError(f"{file} is not a policy that Stable-Baselines3 saved ({'; '.join(problems)})")


def _plugins(*groups: str) -> set[str]:
    """The packages, other than asobiba's, that installed distributions enter in these groups; of a module, its package."""
    found = set()
    for entry in (entry for group in groups for entry in entry_points(group=group)):
        try:
            spec = importlib.util.find_spec(entry.module)
        except ImportError:  # what cannot be imported provides nothing
            continue
        if spec is not None:
            found.add(entry.module if spec.submodule_search_locations else entry.module.rpartition(".")[0])
    return {name for name in found if name and not name.startswith("asobiba.")}


@cache
def _homes() -> tuple[str, ...]:
    return (*_HOMES, *sorted(f"{name}." for name in _plugins(GAMES, AGENTS)))


def _memory_of(file: Path, header: dict[str, Any]) -> str:
    """The class of a memory that a header names, or "". Raises `PolicyFileError` for one of another package's."""
    text = str(header["arguments"].get("memory", ""))
    if text and not text.startswith(_homes()):
        raise PolicyFileError(f"{file} names the memory {text!r}, which belongs to none of {_homes()}")
    return text


def _ours(file: Path) -> bool:
    """Whether the file belongs to asobiba's own packages, or to an installed one that provides agents."""
    folders: list[str] = []
    for name in ("asobiba.baselines", *_plugins(AGENTS)):
        spec = importlib.util.find_spec(name)
        folders += (spec.submodule_search_locations or ()) if spec else ()
    return any(file.resolve().is_relative_to(Path(folder).resolve()) for folder in folders)


_KEPT = (
    "net_arch", "activation_fn", "ortho_init", "use_sde", "log_std_init", "full_std", "use_expln", "squash_output",
    "share_features_extractor", "normalize_images", "n_critics", "n_quantiles", "lstm_hidden_size", "n_lstm_layers",
    "shared_lstm", "enable_critic_lstm", "clip_mean", "batch_norm", "batch_norm_momentum", "batch_norm_eps",
    "renorm_warmup_steps", "memory",
)  # fmt: skip


def arguments_of(policy: Any) -> dict[str, Any]:
    """Arguments of the policy's constructor beside the spaces, as plain data."""
    own = getattr(policy, "_network", {})
    given = {**policy._get_constructor_parameters(), **_lstm(policy), **own}
    kept = {name: _to_plain(name, given[name]) for name in (*_KEPT, *own) if name in given}
    if own:
        kept = {name: value for name, value in kept.items() if name not in ("net_arch", "ortho_init")}
    return {name: value for name, value in kept.items() if value is not None}


def _lstm(policy: Any) -> dict[str, Any]:
    # A recurrent policy does not tell its own settings.
    if not hasattr(policy, "lstm_actor"):
        return {}
    return {
        "lstm_hidden_size": policy.lstm_actor.hidden_size,
        "n_lstm_layers": policy.lstm_actor.num_layers,
        "shared_lstm": policy.shared_lstm,
        "enable_critic_lstm": policy.enable_critic_lstm,
    }


def _to_plain(name: str, value: Any) -> Any:
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    if isinstance(value, dict):
        return {str(key): _to_plain(name, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_plain(name, item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise PolicyFileError(f"the policy's setting {name} is {value!r}, which is not plain data and cannot be saved")


def plain_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The constructor's arguments from the result of `arguments_of`."""
    return {key: _from_plain(key, value) for key, value in arguments.items()}


def _from_plain(name: str, value: Any) -> Any:
    if name == "activation_fn":
        import torch

        module, _, kind = str(value).partition(":")
        if not module.startswith("torch.nn.modules") or not kind.isidentifier():
            raise PolicyFileError(f"{value!r} is not an activation of torch.nn")
        return getattr(torch.nn, kind)
    if name == "channels":
        return {key: tuple(shape) for key, shape in value.items()}
    return value


def _space(space: Any) -> dict[str, Any]:
    if isinstance(space, spaces.Discrete):
        return {"discrete": int(space.n)}
    if isinstance(space, spaces.Box):
        low, high = (_bound(bound) for bound in (space.low, space.high))
        return {"box": list(space.shape), "dtype": str(space.dtype), "low": low, "high": high}
    raise PolicyFileError(f"a policy over {space} cannot be saved: expected a box or discrete actions")


def _bound(values: np.ndarray) -> Any:
    return float(values.flat[0]) if values.size and (values == values.flat[0]).all() else values.tolist()


def _to_space(text: dict[str, Any]) -> Any:
    if "discrete" in text:
        return spaces.Discrete(int(text["discrete"]))
    shape, dtype = tuple(text["box"]), np.dtype(text["dtype"])
    low, high = (np.broadcast_to(np.asarray(text[side], dtype), shape) for side in ("low", "high"))
    return spaces.Box(low, high, shape, dtype.type)
