"""A PostgreSQL server of a test's own: Debian's package, started in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        message = f"{name} is not installed; on Debian: apt-get install postgresql"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Starts a server and gives its URL; PostgreSQL refuses to run as the superuser, so that nobody runs it then."""
    initdb, postgres = program("initdb"), program("postgres")
    root = os.geteuid() == 0
    options = {"user": 65534, "group": 65534, "extra_groups": []} if root else {}
    with tempfile.TemporaryDirectory(prefix="asobiba-postgres-") as place:
        if root:
            os.chown(place, 65534, 65534)
        environment = {**os.environ, "HOME": place, "LC_ALL": "C"}
        data = f"{place}/data"
        command = [initdb, "-D", data, "-U", "asobiba", "-A", "trust", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, env=environment, cwd=place, **options)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [postgres, "-D", data, "-p", str(port), "-k", place, "-h", "127.0.0.1", "-F"]
        process = subprocess.Popen(
            command, env=environment, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options
        )
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "ready to accept connections" in line:
                    break
            yield f"postgresql://asobiba@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
            process.wait(30)
