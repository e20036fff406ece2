"""Pages that a command writes, held to the code that writes them: `python -m asobiba.pages` in the repository.

A game's agents may have a module `pages` with `PAGES`. A page that is quick to write is compared whole. One that takes
long ends with the digest of a *probe*, a small run of the same code; where the code has come to give other results, the
digest differs, and the page must be written again. `--stamp` renews digests, for changes that cannot have touched what
the pages say (such as other random numbers of the same distribution).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STAMP = re.compile(r"\n<!-- digest of the code's probe: ([0-9a-f]{16}) -->\n$")


@dataclass(frozen=True)
class Page:
    """A page that a command writes.

    Args:
        path: from the repository's root.
        command: what writes it.
        whole: the text that the command would write, without its stamp, where that is quick; given the root.
        probe: a small run of the code behind it, as JSON-ready values.
    """

    path: str
    command: str
    whole: Callable[[Path], str] | None = None
    probe: Callable[[], Any] | None = None

    def digest(self) -> str:
        """The digest of the probe as the code is now."""
        assert self.probe is not None
        return hashlib.blake2b(json.dumps(self.probe(), sort_keys=True).encode(), digest_size=8).hexdigest()

    def stamped(self, text: str) -> str:
        """The text with the digest at its end, as the command writes it."""
        if self.probe is None:
            return text
        return f"{_STAMP.sub('', text).rstrip()}\n\n<!-- digest of the code's probe: {self.digest()} -->\n"

    def trouble(self, root: Path) -> str | None:
        """Why the committed page is not what the code writes, or `None`."""
        written = (root / self.path).read_text(encoding="utf-8")
        stamp, text = _STAMP.search(written), _STAMP.sub("", written).rstrip()
        if self.whole is not None and text != self.whole(root).rstrip():
            return f"{self.path} is not what `{self.command}` writes; run it"
        if self.probe is not None and (stamp is None or stamp[1] != self.digest()):
            held = "no digest" if stamp is None else f"the digest {stamp[1]}"
            return f"{self.path} has {held}, the code gives {self.digest()}: run `{self.command}`"
        return None


def all_pages() -> list[Page]:
    """The pages of all games' agents."""
    from asobiba.core.agents import agent_packages
    from asobiba.core.registry import game_names

    packages = dict.fromkeys(package for name in game_names() for package in agent_packages(name))
    found: list[Page] = []
    for package in packages:
        module = importlib.import_module(package)
        if hasattr(module, "__path__") and importlib.util.find_spec(f"{package}.pages") is not None:
            found += importlib.import_module(f"{package}.pages").PAGES
    return found


def main() -> int:
    """Compares all pages, or renews their digests. The exit status is 1 if a page is stale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stamp", action="store_true", help="renew the digests of the pages")
    root, stale = Path.cwd(), False
    stamp = parser.parse_args().stamp
    for page in all_pages():
        if stamp:
            file = root / page.path
            file.write_text(page.stamped(file.read_text(encoding="utf-8")), encoding="utf-8")
        trouble = page.trouble(root)
        stale |= trouble is not None
        print(trouble or f"{page.path}: as the code writes it")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
