"""The playground: a static site on which every game is played against its compiled agents.

`build.py` writes it; `page/` is its page. Rules, agents and drawings are the modules of `asobiba.targets.wasm`; nothing is
fetched from elsewhere.
"""
