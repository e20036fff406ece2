"""Starts a program with limits, and with Landlock's rules where folders are named: for machines without bubblewrap.

Run as a script by `asobiba.protocols.sandbox`: confine.py --as=BYTES ... [--read=PATH ...] [--write=PATH ...] -- PROGRAM
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_NAMES = {
    "as": "RLIMIT_AS",
    "nproc": "RLIMIT_NPROC",
    "cpu": "RLIMIT_CPU",
    "fsize": "RLIMIT_FSIZE",
    "core": "RLIMIT_CORE",
}


def main(words):
    split = words.index("--")
    options = [word[2:].partition("=")[::2] for word in words[:split]]
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for name, value in options:
        if name in _NAMES:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, _NAMES[name]), (int(value), int(value)))
    folders = {kind: [v for n, v in options if n == kind and os.path.exists(v)] for kind in ("read", "write")}
    if folders["read"]:
        from landlock import FSAccess, Ruleset

        rules = Ruleset()
        look = FSAccess.READ_FILE | FSAccess.EXECUTE
        for path in folders["read"]:
            rules.allow(path, rules=look | FSAccess.READ_DIR if os.path.isdir(path) else look)
        for path in folders["write"]:
            if os.path.isdir(path):
                rules.allow(path)
            else:
                rules.allow(path, rules=FSAccess.READ_FILE | FSAccess.WRITE_FILE)
        rules.apply()
    program = words[split + 1 :]
    os.execvp(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
