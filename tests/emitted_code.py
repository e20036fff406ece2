"""`python tests/emitted_code.py GAME FOLDER` compiles the loops and agents of a game into FOLDER and reads what comes out.

It prints every function that was read, and the number of them; it fails for a call of the C library, a fused
multiply-add, or a floating-point instruction that the compiler may reorder.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

os.environ["ASOBIBA_CACHE_DIR"] = sys.argv[2]
os.environ["ASOBIBA_QUIET"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

from conftest import library_functions
from numba.core.caching import FunctionCache

from asobiba import digests

FUSED = re.compile(r"^\s+v?fn?m(?:add|sub|la|ls)\w*\s", re.M)
LOOSE = re.compile(
    r"= (?:f(?:add|sub|mul|div|neg|cmp)|call|select|phi) (?:fast|reassoc|contract|arcp|afn|nnan|ninf|nsz) "
)
count = 0
checked = FunctionCache.save_overload


def save(cache, signature, compiled):
    global count
    library = compiled.library
    called = library_functions(library._get_compiled_object())
    fused, loose = FUSED.findall(library.get_asm_str()), LOOSE.findall(library.get_llvm_str())
    print(cache._py_func.__qualname__, called, fused[:3], loose[:3], flush=True)
    assert (called, fused, loose) == (set(), [], [])
    count += 1
    return checked(cache, signature, compiled)


FunctionCache.save_overload = save

if __name__ == "__main__":
    for line in digests.lines([sys.argv[1]], games=4, steps=3):
        print(line, flush=True)
    print(count)
