"""WebAssembly: games and agents as modules for web pages and Node, with the same bytes as here.

`numba_target.py` makes LLVM modules for wasm32 from the functions that run natively; `objects.py` optimises them and links
them into one module without imports; `exports.py` says which functions a game exports; `package.py` writes modules,
manifests and the JavaScript beside them; `commands.py` is `asobiba wasm`.
"""
