"""Names of compiled functions in machine code: distinct for records of different layouts, in every process.

Numba names a record among a function's arguments by the number that its type got in this process. Two processes may give
one number to records of two layouts, such as those of two boards, and so one name to two functions; a process that
loads both from the cache runs the first one on both. Here a digest of the arguments, records with all their fields, is
part of the name. It goes through the documented option `pipeline_class`, so that only functions of this project have
such names.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import Any

from numba.core.compiler import Compiler
from numba.core.funcdesc import default_mangler

_TAG = "layout"
_RECORD = b"6RecordI"
_WORD = re.compile(rb"[\w.$]{8,}")
_START = re.compile(rb"(?=_ZN?\d)")  # names may follow each other without a gap


@cache
def _tags(arguments: tuple[Any, ...]) -> tuple[str, ...]:
    text = str(arguments)
    return (_TAG + hashlib.sha256(text.encode()).hexdigest()[:24],) if "Record(" in text else ()


def layout_name(name: str, arguments: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """The name of a function with these types of arguments in machine code."""
    return default_mangler(name, arguments, abi_tags=(*abi_tags, *_tags(tuple(arguments))), uid=uid)


class LayoutCompiler(Compiler):
    """Numba's compiler, with names that keep layouts apart."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.targetctx.mangler = layout_name  # the context is this compilation's own copy


def keeps_layouts_apart(code: bytes) -> bool:
    """Whether all names in machine code that speak of records have a digest of their layout.

    Others come from functions of other packages that take records. Such code is not kept.
    """
    words = (found[0] for found in _WORD.finditer(code) if _RECORD in found[0])
    return all(_TAG.encode() in name for word in words for name in _START.split(word) if _RECORD in name)
