"""The size that each extra adds to an installation, in MB on disk: `python .ci/weights.py --write docs/installing.md`.

Measured on the packages that are installed here: those that an extra asks for, with all that they ask for, less those of the
package without extras.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """A package and what it needs here, by name. Raises `PackageNotFoundError` for what is not installed."""
    found: set[str] = set()
    waiting = [(canonicalize_name(name), extras)]
    seen = set()
    while waiting:
        package, wanted = waiting.pop()
        if (package, wanted) in seen:
            continue
        seen.add((package, wanted))
        found.add(package)
        for text in distribution(package).requires or ():
            needed = Requirement(text)
            environments = [{**default_environment(), "extra": extra} for extra in ("", *wanted)]
            if needed.marker is None or any(needed.marker.evaluate(one) for one in environments):
                waiting.append((canonicalize_name(needed.name), tuple(sorted(needed.extras))))
    return found


def megabytes(packages: set[str]) -> float:
    """The files of these packages."""
    files = [file.locate() for package in packages for file in distribution(package).files or ()]
    return sum(Path(file).stat().st_size for file in files if Path(file).is_file()) / 1e6


def table() -> str:
    """Extra and weight, in Markdown."""
    base = closure("asobiba")
    rows = [f"| (none) | {megabytes(base - {'asobiba'}):,.0f} MB |"]
    for extra in distribution("asobiba").metadata.get_all("Provides-Extra"):
        if extra in ("dev", "test", "docs", "all", "gpu"):
            continue
        try:
            rows.append(f"| `{extra}` | {megabytes(closure('asobiba', (extra,)) - base):,.0f} MB |")
        except PackageNotFoundError as error:
            rows.append(f"| `{extra}` | not measured: {error} is not installed |")
    return "\n".join(["| extra | adds on disk |", "|---|--:|", *rows])


if __name__ == "__main__":
    text = table()
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        page = Path(sys.argv[2])
        whole = page.read_text(encoding="utf-8")
        begin, end = "<!-- weights -->", "<!-- end of weights -->"
        assert begin in whole
        assert end in whole
        page.write_text(re.sub(f"{begin}.*{end}", f"{begin}\n{text}\n{end}", whole, flags=re.S), encoding="utf-8")
    print(text)
