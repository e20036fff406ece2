"""Numba's compiler with wasm32 as the target: Python functions become unoptimised LLVM modules.

Types stay those of this machine (`intp` has 64 bits), so the arithmetic is the same; only addresses are 32 bits wide, which
LLVM settles by the target's data layout. Functions that are compiled natively are compiled again here from their Python
source, with all that they call: the typing context below exchanges them where a function refers to them, as numba-cuda
does for its devices.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types, typing
from numba.core.codegen import CPUCodegen, CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext, CPUTargetOptions
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+sign-ext,+bulk-memory,+bulk-memory-opt,+mutable-globals,-nontrapping-fptoint"
"""Features that browsers have had since 2023; masks are read 16 entries at a time (`simd128`). Conversions of floats stay the guarded ones, whose
result for numbers out of range is x86's."""
_NAME = "wasm32"


class Wasm32(CPU):
    """The target, as Numba's registries know it."""


target_registry[_NAME] = Wasm32


@cache
def target_machine() -> llvm.TargetMachine:
    """LLVM's code generator for wasm32."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu="mvp", features=FEATURES, opt=2, reloc="static", codemodel="default")


class _Library(CPUCodeLibrary):
    """Translated code; `objects.py` optimises it when all is there."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    @property
    def module(self) -> llvm.ModuleRef:
        """The LLVM module, with those of all that it calls."""
        with global_compiler_lock:
            return self._get_module_for_linking()


class _Codegen(CPUCodegen):
    _library_class = _Library

    def _init(self, llvm_module: Any) -> None:
        self._tm = target_machine()
        self._tm_features = FEATURES
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)

    def _create_empty_module(self, name: str) -> ir.Module:
        module = ir.Module(cgutils.normalize_ir_text(name))
        module.triple = TRIPLE
        if self._data_layout:
            module.data_layout = self._data_layout
        return module

    def _add_module(self, module: Any) -> None:
        pass  # nothing runs here


class _Context(CPUContext):
    allow_dynamic_globals = False  # arrays among the constants are written into the module

    def init(self) -> None:
        self.is32bit = False  # 64-bit division is an instruction here
        self._internal_codegen: Any = _Codegen("asobiba.wasm")

    def load_additional_registries(self) -> None:
        rtsys.initialize(
            cpu_target.target_context
        )  # that of this machine, once; `super` would make it from this context
        super().load_additional_registries()

    def post_lowering(self, mod: Any, library: Any) -> None:
        """The runtime of Numba is not linked: `objects.py` has one of its own."""

    def add_dynamic_addr(self, builder: Any, intaddr: int, info: Any) -> Any:
        return self.get_dummy_value()  # functions as values are never read: calls are resolved while compiling

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        return object()  # the name by which callers know the function; nothing here calls it


class _Typing(typing.Context):
    def resolve_value_type(self, val: Any) -> Any:
        if (isinstance(val, Dispatcher) and not isinstance(val, WasmDispatcher)) or getattr(val, "of_scene", False):
            val = for_wasm(val)
        return super().resolve_value_type(val)


class _Target(TargetDescriptor):
    options = CPUTargetOptions

    @property
    def typing_context(self) -> Any:
        return _contexts()[0]

    @property
    def target_context(self) -> Any:
        return _contexts()[1]


@cache
def _contexts() -> tuple[_Typing, _Context]:
    typing_context = _Typing()
    return typing_context, _Context(typing_context, _NAME)


class WasmDispatcher(Dispatcher):
    """A function compiled for wasm32; Python cannot call it."""

    targetdescr = _Target(_NAME)
    tried = True  # nothing is announced: `asobiba wasm` says what it does

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result


_DROPPED = ("cache", "pipeline_class", "parallel", "boundscheck")
_known: dict[Dispatcher, WasmDispatcher] = {}


def for_wasm(function: Any) -> WasmDispatcher:
    """The same function (compiled natively, or plain Python) for wasm32."""
    if function not in _known:
        options = {k: v for k, v in getattr(function, "targetoptions", {}).items() if k not in _DROPPED}
        options = {"error_model": "numpy", **options, "nopython": True}
        python = getattr(function, "py_func", function)
        _known[function] = WasmDispatcher(python, targetoptions=options)
    return _known[function]


def _jit(*arguments: Any, **options: Any) -> Any:
    """`numba.njit` where Numba compiles code of its own for this target."""
    options = {k: v for k, v in options.items() if k not in _DROPPED}
    if arguments and callable(arguments[0]):
        return WasmDispatcher(arguments[0], targetoptions={**options, "nopython": True})
    return lambda function: WasmDispatcher(function, targetoptions={**options, "nopython": True})


jit_registry[Wasm32] = _jit
dispatcher_registry[Wasm32] = WasmDispatcher


def compiled_for(function: Any, arguments: tuple[types.Type, ...]) -> Any:
    """Numba's result of compiling `function` for these argument types (`fndesc`, `signature`, `library`).

    Raises:
        numba.core.errors.NumbaError: where the function is not a kernel.
    """
    with target_override(_NAME):
        dispatcher = for_wasm(function)
        dispatcher.compile(arguments)
        return dispatcher.overloads[arguments]


def context() -> Any:
    """The target context: conventions of calls, data layout, array structures."""
    return _contexts()[1]
