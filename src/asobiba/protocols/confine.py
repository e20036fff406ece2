"""Starts a program with limits, and inside Landlock's rules where folders are named: for machines without bubblewrap.

Run as a script by `asobiba.protocols.sandbox`: confine.py --as=BYTES ... [--home=PATH --size=BYTES --read=PATH ...] -- PROGRAM

With a home it must be the superuser of a new user namespace (`unshare --map-root-user --mount --pid`): it mounts a
bounded tmpfs there, shows only the processes of its own namespace, forbids further namespaces and drops all privileges.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_RDONLY = 2, 4, 8, 1
_NAMES = {
    "as": "RLIMIT_AS",
    "nproc": "RLIMIT_NPROC",
    "cpu": "RLIMIT_CPU",
    "fsize": "RLIMIT_FSIZE",
    "core": "RLIMIT_CORE",
}


def mount(libc, kind, place, flags, options):
    if libc.mount(kind, place.encode(), kind, flags, options) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount {kind.decode()} on {place}")


def separate(libc, home, size, readable):
    """Separates the program's files and processes; returns the folders that may be read."""
    mount(libc, b"tmpfs", home, _MS_NOSUID | _MS_NODEV, f"size={size},mode=0700".encode())
    os.chdir(home)
    if os.path.isdir("/run") and not any(path.startswith("/run/") for path in readable):
        mount(libc, b"tmpfs", "/run", _MS_NOSUID | _MS_NODEV | _MS_RDONLY, b"size=4096")  # sockets of services
    with contextlib.suppress(OSError), open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
    try:
        mount(libc, b"proc", "/proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None)
        readable = [*readable, "/proc"]
    except OSError:
        pass  # some containers forbid it; without it nothing of /proc can be read
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return readable


def restrict(home, readable):
    from landlock import FSAccess, Ruleset

    ctypes.set_errno(0)  # the package mistakes an older call's error for its own
    rules = Ruleset()
    look = FSAccess.READ_FILE | FSAccess.EXECUTE
    for path in readable:
        rules.allow(path, rules=look | FSAccess.READ_DIR if os.path.isdir(path) else look)
    rules.allow(home)
    rules.allow("/dev/null", rules=FSAccess.READ_FILE | FSAccess.WRITE_FILE)
    rules.apply()


def main(words):
    split = words.index("--")
    options = [word[2:].partition("=")[::2] for word in words[:split]]
    libc = ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(OSError, AttributeError):
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    values = dict(options)
    if "home" in values:
        readable = [value for name, value in options if name == "read" and os.path.exists(value)]
        restrict(values["home"], separate(libc, values["home"], values["size"], readable))
    for name, value in options:
        if name in _NAMES:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, _NAMES[name]), (int(value), int(value)))
    program = words[split + 1 :]
    os.execvp(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
