"""Recognises files that this user has written: they carry a hash under a key in the user's configuration folder.

A checkpoint holds pickles, and reading them runs arbitrary code. A folder received from somebody else must not be run.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

_BYTES = 32


def key_file() -> Path:
    """The path of the key: `asobiba/checkpoints.key` in `$XDG_CONFIG_HOME` (`~/.config`), or in `%APPDATA%`."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "asobiba" / "checkpoints.key"


def seal(parts: Iterable[bytes]) -> bytes:
    """The hash of a file's parts under this user's key, which is made if there is none; empty where it cannot be."""
    key = _read() or _make()
    return b"" if key is None else _hash(key, parts)


def is_own(parts: Iterable[bytes], sealed: bytes) -> bool:
    """Whether `seal` gave this for these parts."""
    key = _read()
    return key is not None and hmac.compare_digest(_hash(key, parts), sealed)


def _hash(key: bytes, parts: Iterable[bytes]) -> bytes:
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest().encode()


def _read() -> bytes | None:
    """The key, if it is this user's alone."""
    with contextlib.suppress(OSError):
        with key_file().open("rb") as file:
            status = os.fstat(file.fileno())
            if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
                return None
            key = file.read()
        return key if len(key) == _BYTES else None
    return None


def _make() -> bytes | None:
    file, key = key_file(), secrets.token_bytes(_BYTES)
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(key)
        try:
            os.link(fresh, file)  # written as a whole; the first process makes it
        except FileExistsError:
            return _read()
        finally:
            fresh.unlink()
        return key
    return None
