"""Environments that lie over the one that runs the tests: other packages, beside everything that is installed here."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from asobiba.core.folders import cache_folder

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"


def python_with(*requirements: str, free: tuple[str, ...] = ()) -> str:
    """The Python of an environment that has these packages too, made once; PyTorch's build stays as it is.

    Args:
        requirements: as pip takes them.
        free: packages of `constraints.txt` that may have another version in the layer.
    """
    key = hashlib.sha256(repr((sys.prefix, requirements, free, CONSTRAINTS.read_text())).encode()).hexdigest()[:16]
    folder = cache_folder() / "layers" / key
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        (folder / "lib" / version / "site-packages" / "below.pth").write_text(
            f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n", encoding="utf-8"
        )
        kept = folder / "constraints.txt"
        lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
        kept.write_text("\n".join(line for line in lines if line.partition("==")[0] not in free), encoding="utf-8")
        command = [python, "-m", "pip", "install", "--quiet", "--constraint", kept, *requirements]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (folder / "done").touch()
    return str(python)


def run_in(python: str, *arguments: str, cwd: Path, **variables: str) -> str:
    """The output of a script; its error stream if it failed."""
    done = subprocess.run(
        [python, *arguments], cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
