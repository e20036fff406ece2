"""Policies of PyTorch as `asobiba.learn.formulas`: PyTorch's exporter lists what a network computes.

Each tensor that depends on the observation is traced as the places of its numbers. An operation that only moves numbers
is then applied to the places; all others become operations of the list. What does not depend on the observation is
computed here, once.
"""

from __future__ import annotations

import hashlib
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.fx import Interpreter

from asobiba.learn import formulas
from asobiba.learn.formulas import OPERANDS, OPERATION, Formulas
from asobiba.learn.policy_file import PolicyFileError, arguments_of

_MADE, _FIXED = 1 << 40, 1 << 41
"""The first places of results and of constants, before their numbers are known."""
_MOVES = {
    "_unsafe_view", "alias", "cat", "clone", "constant_pad_nd", "contiguous", "detach", "expand", "flatten", "index",
    "index_select", "lift_fresh_copy", "permute", "reshape", "select", "slice", "split", "split_with_sizes", "squeeze",
    "stack", "t", "transpose", "unbind", "unsqueeze", "view",
}  # fmt: skip
_ONE = {
    "relu": formulas.RELU, "tanh": formulas.TANH, "exp": formulas.EXP, "log": formulas.LOG, "abs": formulas.ABS,
    "logical_not": formulas.NOT,
}  # fmt: skip
_TWO = {
    "add": formulas.ADD, "sub": formulas.SUBTRACT, "mul": formulas.MULTIPLY, "div": formulas.DIVIDE,
    "maximum": formulas.LARGER, "minimum": formulas.SMALLER, "eq": formulas.EQUAL, "lt": formulas.LESS,
    "le": formulas.AT_MOST,
}  # fmt: skip
_TURNED = {"gt": formulas.LESS, "ge": formulas.AT_MOST}
_ROWS = {"sum": formulas.SUM, "amax": formulas.MOST, "amin": formulas.LEAST}
_TRACED: dict[str, Formulas] = {}


@dataclass(frozen=True)
class _Places:
    """A tensor by the places of its numbers."""

    at: torch.Tensor
    dtype: torch.dtype


class _Actor(nn.Module):
    """From observations to logits."""

    def __init__(self, policy: Any):
        super().__init__()
        self.policy = policy

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        policy = self.policy
        features = policy.extract_features(observations, policy.pi_features_extractor)
        return policy.action_net(policy.mlp_extractor.forward_actor(features))


def has_actor(policy: Any) -> bool:
    """Whether a policy is an actor without a memory."""
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.policies import ActorCriticPolicy

    known = (ActorCriticPolicy, MaskableActorCriticPolicy)
    return isinstance(policy, known) and not hasattr(policy, "lstm_actor")


def traced(policy: Any) -> Formulas:
    """The actor of a policy over discrete actions (see `has_actor`).

    Raises:
        PolicyFileError: for an operation that is not known here.
    """
    digest = hashlib.blake2b(repr((type(policy), arguments_of(policy))).encode())
    for name, tensor in policy.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)}".encode() + tensor.detach().cpu().numpy().tobytes())
    key = digest.hexdigest()
    if key not in _TRACED:  # the exporter takes seconds, and every variant of a game asks
        _TRACED[key] = traced_module(_Actor(policy), int(policy.observation_space.shape[0]))
    return _TRACED[key]


def traced_module(module: nn.Module, inputs: int) -> Formulas:
    """A module that maps observations `(1, inputs)` to logits `(1, actions)`.

    Raises:
        PolicyFileError: for an operation that is not known here.
    """
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        exported = torch.export.export(module.eval(), (torch.zeros(1, inputs),)).run_decompositions()
    graph = exported.graph_module.graph
    for node in reversed(graph.nodes):
        if "_assert" in str(node.target):  # what a tensor must be; the exporter's own notes
            graph.erase_node(node)
    graph.eliminate_dead_code()
    exported.graph_module.recompile()
    given: dict[str, Any] = {**exported.state_dict, **exported.constants}
    observation = _Places(torch.arange(inputs)[None], torch.float32)
    values = [
        observation if spec.kind is torch.export.graph_signature.InputKind.USER_INPUT else given[str(spec.target)]
        for spec in exported.graph_signature.input_specs
    ]
    tracer = _Tracer(exported.graph_module, inputs)
    with torch.no_grad():
        (logits,) = tracer.run(*values)
    return tracer.formulas(logits)


class _Tracer(Interpreter):
    """Runs a graph whose observation is a tensor of places."""

    def __init__(self, graph: Any, inputs: int):
        super().__init__(graph)
        self._inputs, self._made = inputs, 0
        self._fixed: list[np.ndarray] = []
        self._used = 0
        self._known: dict[tuple[tuple[int, ...], bytes], int] = {}
        self._found: list[tuple[dict[str, int], dict[str, np.ndarray]]] = []

    def run_node(self, n: Any) -> Any:
        self._value = n.meta.get("val")
        return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        name = str(getattr(target, "_opname", target.__name__))
        if target is operator.getitem:
            return args[0][args[1]]
        if not any(isinstance(one, _Places) for one in _flat(args)):
            return super().call_function(target, args, kwargs)
        if name in _MOVES:
            return self._moved(target, name, list(args), kwargs)
        if name == "_to_copy":
            return self._converted(args[0], kwargs.get("dtype") or args[0].dtype)
        if name == "full_like":
            return torch.full(args[0].at.shape, args[1], dtype=args[0].dtype)
        if name in _ONE:
            return self._entries(_ONE[name], args[0])
        if name in _TWO:
            return self._entries(_TWO[name], args[0], self._scaled(args[1], kwargs.get("alpha", 1)))
        if name in _TURNED:
            return self._entries(_TURNED[name], args[1], args[0])
        if name in _ROWS:
            return self._rows(_ROWS[name], *args)
        own = getattr(self, f"_on_{name.strip('_')}", None)
        if own is None:
            raise PolicyFileError(f"compiled code does not know PyTorch's {target}")
        return own(*args, **kwargs)

    # What numbers become.

    def _on_bitwise_not(self, x: Any) -> _Places:
        return self._entries(formulas.NOT, x)

    def _on_bitwise_and(self, x: Any, y: Any) -> _Places:
        return self._entries(formulas.MULTIPLY, x, y)

    _on_logical_and = _on_bitwise_and

    def _on_bitwise_or(self, x: Any, y: Any) -> _Places:
        return self._entries(formulas.LARGER, x, y)

    _on_logical_or = _on_bitwise_or

    def _on_neg(self, x: Any) -> _Places:
        return self._entries(formulas.SUBTRACT, 0.0, x)

    def _on_ne(self, x: Any, y: Any) -> _Places:
        return self._entries(formulas.NOT, self._entries(formulas.EQUAL, x, y))

    def _on_reciprocal(self, x: Any) -> _Places:
        return self._entries(formulas.DIVIDE, 1.0, x)

    def _on_pow(self, x: Any, power: Any) -> _Places:
        if power != 2:
            raise PolicyFileError(f"compiled code does not know the power {power}")
        return self._entries(formulas.MULTIPLY, x, x)

    def _on_where(self, condition: Any, x: Any, y: Any) -> _Places:
        return self._entries(formulas.CHOOSE, x, y, condition)

    def _on_clamp(self, x: Any, low: Any = None, high: Any = None, **bounds: Any) -> _Places:
        low, high = bounds.get("min", low), bounds.get("max", high)
        found = x if low is None else self._entries(formulas.LARGER, x, low)
        return found if high is None else self._entries(formulas.SMALLER, found, high)

    def _on_mean(self, x: Any, axes: Any, keep: bool = False) -> _Places:
        total = self._rows(formulas.SUM, x, axes, keep)
        return self._entries(formulas.DIVIDE, total, float(x.at.numel() // total.at.numel()))

    def _on_softmax(self, x: Any, axis: int, half: bool) -> _Places:
        shifted = self._entries(formulas.SUBTRACT, x, self._rows(formulas.MOST, x, [axis], True))
        grown = self._entries(formulas.EXP, shifted)
        return self._entries(formulas.DIVIDE, grown, self._rows(formulas.SUM, grown, [axis], True))

    def _on_mm(self, x: Any, y: Any) -> _Places:
        return self._product(self._places(x), self._places(y).T)

    def _on_addmm(self, bias: Any, x: Any, y: Any) -> _Places:
        return self._product(self._places(x), self._places(y).T, self._places(bias))

    def _on_bmm(self, x: Any, y: Any) -> _Places:
        pairs = zip(self._places(x), self._places(y), strict=True)
        return _Places(torch.stack([self._product(one, other.T).at for one, other in pairs]), torch.float32)

    def _on_convolution(
        self, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, *others: Any
    ) -> _Places:
        if others[0] or others[-1] != 1:
            raise PolicyFileError("compiled code knows plain convolutions alone")
        padded = nn.functional.pad(
            self._places(x), (padding[1], padding[1], padding[0], padding[0]), value=int(self._places(0.0))
        )
        if any(padding):
            padded = self._copied(padded)  # places of windows are then sums of two
        sides = [(padded.shape[2 + k] - dilation[k] * (weight.shape[2 + k] - 1) - 1) // stride[k] + 1 for k in range(2)]
        down, right = (
            torch.arange(sides[k])[:, None] * stride[k] + torch.arange(weight.shape[2 + k]) * dilation[k]
            for k in range(2)
        )
        windows = padded[0][:, down[:, None, :, None], right[None, :, None, :]]  # (in, height, width, kernel, kernel)
        rows = windows.permute(1, 2, 0, 3, 4).reshape(sides[0] * sides[1], -1)
        found = self._product(rows, self._places(weight).reshape(len(weight), -1), self._places(bias))
        return _Places(found.at.T.reshape(1, -1, *sides).contiguous(), torch.float32)

    # How they are written down.

    def _places(self, value: Any) -> torch.Tensor:
        """The places of a tensor, or of a number; constants are put down, equal and transposed ones once."""
        if isinstance(value, _Places):
            return value.at
        numbers = torch.as_tensor(value).detach().to(torch.float32).contiguous()
        for turn in (False, True):
            if turn and numbers.ndim < 2:
                break
            content = (numbers.transpose(-1, -2) if turn else numbers).contiguous().numpy()
            start = self._known.get((content.shape, content.tobytes()))
            if start is not None:
                found = _FIXED + start + torch.arange(content.size).reshape(content.shape)
                return found.transpose(-1, -2) if turn else found
        content = numbers.numpy()
        start, self._used = self._used, self._used + content.size
        self._known[content.shape, content.tobytes()] = start
        self._fixed.append(content.ravel())
        return _FIXED + start + torch.arange(content.size).reshape(content.shape)

    def _scaled(self, value: Any, factor: Any) -> Any:
        return value if factor == 1 else self._entries(formulas.MULTIPLY, value, float(factor))

    def _moved(self, target: Callable[..., Any], name: str, args: list[Any], kwargs: Any) -> Any:
        dtype = next(one.dtype for one in _flat(args) if isinstance(one, _Places))
        if name == "constant_pad_nd":
            args[2:] = [int(self._places(float(args[2]) if len(args) > 2 else 0.0))]
        if name in ("cat", "stack"):
            args[0] = [self._places(one) for one in args[0]]
        found = target(*[one.at if isinstance(one, _Places) else one for one in args], **kwargs)
        if isinstance(found, torch.Tensor):
            return _Places(found.contiguous(), dtype)  # a view needs it
        return [_Places(one.contiguous(), dtype) for one in found]

    def _converted(self, x: _Places, dtype: torch.dtype) -> _Places:
        if x.dtype.is_floating_point and not dtype.is_floating_point and dtype != torch.bool:
            return _Places(self._entries(formulas.TRUNCATE, x).at, dtype)
        return _Places(x.at, dtype)

    def _entries(self, kind: int, *operands: Any) -> _Places:
        places = torch.broadcast_tensors(*map(self._places, operands))
        named = dict(zip(OPERANDS, (one.reshape(-1).numpy() for one in places), strict=False))
        return self._written(kind, tuple(places[0].shape), {"rows": places[0].numel()}, named)

    def _rows(self, kind: int, x: Any, axes: Any = None, keep: bool = False, **_: Any) -> _Places:
        at = self._places(x)
        all_axes = range(at.ndim)
        gone = {axis % at.ndim for axis in (axes or all_axes)}
        left = [axis for axis in all_axes if axis not in gone]
        rows = at.permute(*left, *sorted(gone)).reshape(-1, int(np.prod([at.shape[axis] for axis in gone])))
        shape = [1 if axis in gone else at.shape[axis] for axis in all_axes if keep or axis not in gone]
        first, more = self._factored(rows)
        return self._written(
            kind, tuple(shape), {"rows": rows.shape[0], "inner": rows.shape[1]}, {"a": first, "b": more}
        )

    def _product(self, x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor | None = None) -> _Places:
        """Of `(rows, inner)` and, transposed, `(columns, inner)`."""
        (a, b), (c, d) = self._factored(x), self._factored(y)
        sizes = {"rows": x.shape[0], "columns": y.shape[0], "inner": x.shape[1]}
        named = {"a": a, "b": b, "c": c, "d": d} | ({} if bias is None else {"e": bias.numpy()})
        return self._written(formulas.PRODUCT, (x.shape[0], y.shape[0]), sizes, named)

    def _factored(self, places: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
        """`(rows, inner)` places as the first of each row, and the first row, copied where that is not enough."""
        if not torch.equal(places - places[:, :1], (places[:1] - places[:1, :1]).expand_as(places)):
            places = self._copied(places)
        return places[:, 0].numpy().copy(), places[0].numpy().copy()

    def _copied(self, places: torch.Tensor) -> torch.Tensor:
        return self._entries(formulas.COPY, _Places(places, torch.float32)).at

    def _written(
        self, kind: int, shape: Sequence[int], sizes: dict[str, int], operands: dict[str, np.ndarray]
    ) -> _Places:
        count = int(np.prod(shape))
        target = _MADE + self._made
        self._made += count
        self._found.append(({"kind": kind, "target": target, **sizes}, operands))
        dtype = self._value.dtype if isinstance(self._value, torch.Tensor) else torch.float32
        return _Places(target + torch.arange(count).reshape(tuple(shape)), dtype)

    def formulas(self, logits: _Places) -> Formulas:
        """All that was written down; the logits stand at its end."""
        last = self._copied(logits.at).reshape(-1)
        fixed = self._inputs + self._used

        def final(places: np.ndarray) -> np.ndarray:
            found = np.where(places >= _MADE, places - _MADE + fixed, places)
            return np.where(places >= _FIXED, places - _FIXED + self._inputs, found)

        operations = np.zeros(len(self._found), OPERATION)
        tables: dict[bytes, int] = {}
        size = 0
        for one, (values, operands) in zip(operations, self._found, strict=True):
            for key, value in values.items():
                one[key] = value
            one["target"] = final(np.asarray(values["target"]))
            for name in OPERANDS:
                one[f"{name}_start"] = one[f"{name}_table"] = -1
            for name, places in operands.items():
                real = final(places)
                if name in "bd" and values["kind"] >= formulas.SUM:
                    real = real - real[0]
                steps = np.diff(real)
                one[f"{name}_start"] = real[0]
                if len(steps) == 0 or (steps == steps[0]).all():
                    one[f"{name}_step"] = steps[0] if len(steps) else 0
                    continue
                content = real.astype(np.int32).tobytes()
                if content not in tables:
                    tables[content], size = size, size + len(real)
                one[f"{name}_table"] = tables[content]
        joined = np.frombuffer(b"".join(tables) or bytes(4), np.int32).copy()
        constants = np.concatenate([*self._fixed, np.zeros(1, np.float32)])[: self._used]
        return Formulas(
            operations, joined, constants, self._inputs, fixed + self._made, int(final(last.numpy())[0]), len(last)
        )


def _flat(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return [one for value in values for one in _flat(value)]
    return [values]
