"""Built and installed packages: one tree, each file once, and all that the tests need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from coverage import CoverageData

ROOT = Path(__file__).parent.parent
LINKS = ("envs", "baselines")
PACKAGE = ROOT / "src" / "asobiba"


def package_files(package: Path) -> list[str]:
    """The files of a package, those behind its links included, by their paths from the folder above it."""
    return sorted(
        Path(folder, name).relative_to(package.parent).as_posix()
        for folder, _, names in os.walk(package, followlinks=True)
        for name in names
        if "__pycache__" not in folder
    )


def python(
    code: str, *, cwd: Path, options: tuple[str, ...] = (), path: Path | None = None
) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(path or ""), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *options, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True
    )


class Built(NamedTuple):
    """A clone, and what was built from it: an sdist (the names in it, and unpacked), a wheel of that, an editable
    installation."""

    clone: Path
    names: list[str]
    sdist: Path
    wheel: Path
    editable: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    clone = folder / "asobiba"  # as the package is called, so that the folder above it has a folder of this name
    patterns = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    left = shutil.ignore_patterns(".git", *(pattern.rstrip("/") for pattern in patterns))
    shutil.copytree(ROOT, clone, symlinks=True, ignore=left)

    def build(kind: str, source: Path) -> Path:
        output = folder / kind
        output.mkdir()
        result = python(f"import build_backend; build_backend.build_{kind}({str(output)!r})", cwd=source, path=source)
        assert result.returncode == 0, result.stderr
        return next(output.iterdir())

    with tarfile.open(build("sdist", clone)) as archive:
        names = [member.name.partition("/")[2] for member in archive if member.isfile()]
        archive.extractall(folder / "unpacked", filter="data")
    sdist = next((folder / "unpacked").iterdir())
    wheel = build("wheel", sdist)
    editable = folder / "site"
    zipfile.ZipFile(build("editable", clone)).extractall(editable)
    return Built(clone, names, sdist, wheel, editable)


def test_a_wheel_holds_every_file_that_lies_beside_the_modules():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    files = package_files(PACKAGE)
    packages = [PACKAGE.parent / Path(name).parent for name in files if name.endswith("/__init__.py")]
    # As setuptools reads it: patterns from the folder of every package, not of folders that are none.
    packed = {
        path for package in packages for pattern in settings["package-data"]["*"] for path in package.glob(pattern)
    }
    present = {PACKAGE.parent / name for name in files if not name.endswith(".py")}
    assert PACKAGE / "envs" / "tactics" / "units.yml" in present
    assert sorted(present - packed) == []


def test_the_sdist_holds_all_that_the_repository_holds(built):
    """The games and agents once, where the links lead to: an archive with links cannot be unpacked everywhere."""
    expected = {
        name if name.split("/")[0] not in LINKS else f"src/asobiba/{name}"
        for path in built.clone.rglob("*")
        if path.is_file() and (name := path.relative_to(built.clone).as_posix())
        if not name.startswith("build/") and ".egg-info" not in name and "__pycache__" not in name
    }
    held = sorted(name for name in built.names if ".egg-info" not in name)
    assert held == sorted({*expected, "PKG-INFO", "setup.cfg"})


def test_the_wheel_holds_every_file_once(built):
    names = zipfile.ZipFile(built.wheel).namelist()
    held = sorted(name for name in names if ".dist-info/" not in name)
    assert len(held) > 500
    assert held == package_files(built.clone / "src" / "asobiba")


def test_an_editable_installation_is_a_path_and_goes_before_the_folder_of_the_clone(built):
    """In the folder above the clone, which holds a folder called asobiba as well, the package is found."""
    source = built.clone / "src"
    assert [path.read_text().split() for path in built.editable.glob("*.pth")] == [[str(source)]]
    assert list(built.editable.rglob("*.py")) == []
    code = (
        f"import site, sys; site.addsitedir({str(built.editable)!r}); sys.path.append({sysconfig.get_path('purelib')!r}); "
        "import asobiba, asobiba.envs.gogo; print(asobiba.__file__); print(asobiba.envs.gogo.__file__)"
    )
    # -S: without the installation that these tests run in.
    result = python(code, cwd=built.clone.parent, options=("-S",))
    assert result.returncode == 0, result.stderr
    expected = [source / "asobiba" / "__init__.py", source / "asobiba" / "envs" / "gogo" / "__init__.py"]
    assert result.stdout.split() == [str(path) for path in expected]


def test_the_tests_run_from_the_sdist(built):
    """Two files of them that compile nothing, on the package that lies beside them."""
    files = ["tests/test_core_imports.py", "tests/test_package.py", "-k", "import or beside or checkout"]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *files]
    environment = {**os.environ, "PYTHONPATH": str(built.sdist / "src")}
    result = subprocess.run(command, cwd=built.sdist, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert " passed" in result.stdout


def test_a_checkout_without_links_says_what_to_do(tmp_path):
    """As git leaves them with core.symlinks=false: files that hold the name of the folder."""
    package = tmp_path / "src" / "asobiba"
    package.mkdir(parents=True)
    for name in ("__init__.py", "checkout.py"):
        shutil.copy(PACKAGE / name, package)
    shutil.copy(ROOT / "build_backend.py", tmp_path)
    for name in LINKS:
        (package / name).write_text(f"../../{name}")
    for code, path in (("import asobiba", package.parent), ("import build_backend", tmp_path)):
        result = python(code, cwd=tmp_path, path=path)
        assert result.returncode == 1
        assert (
            "git config core.symlinks true && git checkout -- src/asobiba/envs src/asobiba/baselines" in result.stderr
        )


def test_the_readme_of_the_package_index_leads_to_the_repository(built):
    with zipfile.ZipFile(built.wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    address = re.search(r"^Project-URL: Repository, (\S+)$", metadata, re.MULTILINE)[1]
    assert re.findall(r"\]\((?!https?:)([^)]+)\)", metadata) == []
    assert f"({address}/blob/main/docs/aiwolf.md)" in metadata
    assert f"({address}/raw/main/docs/pictures/battleship.svg)" in metadata


def test_the_address_of_the_repository_stands_in_one_place():
    address = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
    texts = [
        path for pattern in ("*", "docs/**/*", "src/**/*.py", ".ci/*", ".github/**/*") for path in ROOT.glob(pattern)
    ]
    kinds = (".md", ".py", ".toml", ".yml", ".cff")
    found = [path for path in texts if path.suffix in kinds and address in path.read_text(encoding="utf-8")]
    assert found == [ROOT / "pyproject.toml"]


def test_coverage_sees_every_file_once(tmp_path):
    """Those that nothing has imported as well, by the place where they lie."""
    data, code = tmp_path / "data", tmp_path / "code.py"
    code.write_text("import asobiba.baselines.gogo, asobiba.envs.gogo")
    arguments = [sys.executable, "-m", "coverage", "run", "--data-file", str(data), str(code)]
    subprocess.run(arguments, cwd=ROOT, check=True, capture_output=True)
    measured = CoverageData(str(data))
    measured.read()
    files = {(PACKAGE.parent / name).resolve() for name in package_files(PACKAGE) if name.endswith(".py")}
    assert sorted(measured.measured_files()) == sorted(map(str, files))
    for game in LINKS:
        assert measured.arcs(str((PACKAGE / game / "gogo" / "__init__.py").resolve()))
