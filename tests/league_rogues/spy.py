"""A program that tries what contained programs must not do, and tells what it could on its standard error stream.

    spy.py SECRET PORT MARK FILE PROMISES...

Args: a file that is none of its business, backwards, since what a command names may be read; a port of this machine on which
somebody listens; a word of another process's command line, backwards; a file in its own folder that it tries to write; and
which of its tricks it tries. It speaks no protocol.
"""

import ctypes
import json
import os
import socket
import sys

SECRET, PORT, OTHER, OWN = sys.argv[1][::-1], int(sys.argv[2]), sys.argv[3][::-1], sys.argv[4]
CLONE_NEWUSER = 0x10000000


def environment():
    usual = {"PATH", "HOME", "LANG", "TMPDIR", "PWD", "LC_CTYPE", "SHLVL", "_", "OLDPWD"}
    ours = (
        "ASOBIBA_",
        "PYTHON",
        "NUMBA_",
        "OMP_",
        "GOMP_",
        "OPENBLAS_",
        "PYGAME_",
    )  # of Python agents in their process
    return sorted(name for name in set(os.environ) - usual if not name.startswith(ours))


def reading():
    found = []
    for path in (SECRET, "/etc/passwd", "/etc/hostname"):
        try:
            with open(path, "rb") as file:
                found += [path] if file.read() else []
        except OSError:
            pass
    return found


def writable(path):
    try:
        with open(path, "w") as file:
            file.write("x")
    except OSError:
        return False
    os.remove(path)
    return True


def writing():
    return [
        path for path in ("/spied", "/dev/spied", "/etc/spied", "/usr/spied", "/var/tmp/spied", OWN) if writable(path)
    ]


def disk():
    """Bytes that it could write to all places together, in files of a megabyte; no more than 100 MB."""
    written, block = 0, b"x" * (1 << 20)
    for place in dict.fromkeys((os.environ["HOME"], "/tmp", "/dev/shm")):
        for number in range(100):
            try:
                with open(os.path.join(place, f"spied-{number}"), "wb", buffering=0) as file:
                    written += file.write(block)
            except OSError:
                break
    return written


def network():
    found = []
    for address in ("127.0.0.1", "10.0.0.1"):
        try:
            socket.create_connection((address, PORT), 0.3).close()
            found.append(address)
        except OSError:
            pass
    return found


def processes():
    """The processes of others that it sees, by what stands in command lines."""
    found = []
    for name in map(str, range(1, 1 << 16)):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                found += [name] if OTHER.encode() in file.read().split(b"\0") else []
        except OSError:
            pass
    return found


def namespaces():
    return ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) == 0


def count():
    """Number of processes that it could start; no more than 300."""
    children = []
    try:
        while len(children) < 300:
            child = os.fork()
            if not child:
                os.read(0, 1)
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)
    return len(children)


def memory():
    """Megabytes that it could have; no more than 2048."""
    held = []
    try:
        while len(held) < 128:
            held.append(bytearray(16 << 20))
    except MemoryError:
        pass
    return 16 * len(held)


def end():
    """Leaves a process behind that nobody waits for."""
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 3)
        os.execvp("sleep", ["sleep", "4242.75"])
    os.wait()
    return True


TRICKS = [environment, reading, writing, disk, network, processes, namespaces, count, memory, end]
found = {trick.__name__: trick() for trick in TRICKS if trick.__name__ in sys.argv[5:]}
sys.stderr.write(json.dumps(found))
sys.stderr.flush()
