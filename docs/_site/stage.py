"""Writes the sources of the site into a folder: the pages of the repository, with their links led to pages of the site,
and beside them those made from the live package (games, reference).

    python docs/_site/stage.py build/site-source

Pages are written so that their links work in the repository. Here a link to a page of the site stays a link, a picture is
copied, and whatever else is in the repository is linked there. A link to nothing is an error.
"""

from __future__ import annotations

import importlib.util
import os
import posixpath
import re
import shutil
import sys
import tomllib
import warnings
from pathlib import Path

import api
import games
from PIL import Image

from asobiba.api.pixels import rasterise

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ADDRESS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
PICTURES = (".svg", ".png", ".gif", ".webp")

GAMES = "<!-- the games -->"
"""Stands on a page where the cards of the games belong."""
_LINK = re.compile(r"(!?\[[^\]]*\]\()(?![a-z]+:|#)([^)#\s]*)(#[^)\s]*)?(\))")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")


_EXAMPLE = re.compile(r"^\[([\w.]+)\]\(../../examples/\1\)$", re.M)


class DeadLink(Exception):
    """A link of a page to what is not in the repository."""


def pages() -> dict[str, str]:
    """Every written page: its path in the repository -> its path on the site."""
    found = {"docs/_site/index.md": "index.md"}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("docs/_site/"):
            found[name] = name.removeprefix("docs/").replace("README.md", "index.md")
    for path in sorted((ROOT / "leaderboards").glob("*/*.md")):
        name = path.parent.name if path.name == "README.md" else f"{path.parent.name}-{path.stem}"
        found[path.relative_to(ROOT).as_posix()] = f"leagues/{name}.md"
    for path in sorted((ROOT / "baselines").glob("*/policies/README.md")):
        found[path.relative_to(ROOT).as_posix()] = f"policies/{path.parts[-3]}.md"
    for path in sorted((ROOT / "baselines").glob("*/policies/*/README.md")):
        found[path.relative_to(ROOT).as_posix()] = f"policies/{path.parts[-4]}-{path.parts[-2]}.md"
    found["firmware/mini4wd/README.md"] = "mini4wd/firmware.md"
    found["firmware/mini4wd/esp32/README.md"] = "mini4wd/firmware-esp32.md"
    found["src/asobiba/targets/wasm/npm/README.md"] = "javascript.md"
    for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT"):
        found[f"{name}.md"] = f"{name.lower().replace('_', '-')}.md"
    return found


def made_pages() -> dict[str, str]:
    """The source in the repository of a page that is made: a game's package, a public module."""
    found = {}
    for package, played in games.packages().items():
        place = played[0].package.removeprefix("asobiba.").replace(".", "/")
        for name in (place, f"{place}/__init__.py"):
            found[name] = f"games/{package}.md"
    for module in api.PUBLIC:
        path = Path("src", *module.split("."))
        found[path.as_posix() + (".py" if (ROOT / f"{path}.py").is_file() else "/__init__.py")] = f"api/{module}.md"
    found["README.md"] = "index.md"
    for report in (ROOT / "leaderboards").glob("*/report.html"):
        found[report.relative_to(ROOT).as_posix()] = f"reports/{report.parent.name}.html"
    return found


class Stage:
    """Leads links from where a page lies in the repository to where they lead on the site.

    Args:
        out: the folder that is written.
        revision: the branch or tag to which links into the repository lead.
    """

    def __init__(self, out: Path, revision: str = "main"):
        self.out, self.revision = out, revision
        self.known = {**pages(), **made_pages()}

    def text(self, source: str, page: str, text: str) -> str:
        """The text of a page with its links led on; those in code stay.

        Raises:
            DeadLink: where one leads to nothing.
        """
        parts: list[tuple[bool, list[str]]] = [(False, [])]
        fence = ""
        for line in text.split("\n"):
            mark = _FENCE.match(line)
            if mark and not fence:
                fence = mark[1]
                parts.append((True, []))
            parts[-1][1].append(line)
            if mark and len(parts[-1][1]) > 1 and line.strip().startswith(fence):
                fence = ""
                parts.append((False, []))
        return "\n".join(
            block if code else _LINK.sub(lambda m: self._link(m, source, page), block)
            for code, block in ((code, "\n".join(lines)) for code, lines in parts if lines)
        )

    def _link(self, match: re.Match[str], source: str, page: str) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        anchor = match[3] or ""
        if not (ROOT / target).exists():
            raise DeadLink(f"{source}: {match[2]} leads to {target}, which does not exist")
        if target in self.known:
            place = self.known[target]
        elif target.endswith(PICTURES):
            place = f"media/{target}"
            (self.out / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / target, self.out / place)
        else:
            kind = "tree" if (ROOT / target).is_dir() else "blob"
            return f"{match[1]}{ADDRESS}/{kind}/{self.revision}/{target}{anchor}{match[4]}"
        relative = posixpath.relpath(place, posixpath.dirname(page) or ".")
        if place.endswith(".html"):  # no page of Sphinx's, so Markdown's link would be missing
            return f'<a href="{relative}{anchor}">{match[1][1:-2]}</a>'
        return f"{match[1]}{relative}{anchor}{match[4]}"

    def write(self, page: str, text: str) -> None:
        path = self.out / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def with_examples(text: str) -> str:
    """A tutorial in which the link to an example, alone in its paragraph, is a cell that writes the file."""

    def cell(match: re.Match[str]) -> str:
        code = (ROOT / "examples" / match[1]).read_text(encoding="utf-8")
        return f"```{{code-cell}} python\n%%writefile {match[1]}\n{code}```"

    return _EXAMPLE.sub(cell, text)


def notebooks(out: Path) -> None:
    """The tutorials as notebooks, and on each page a link to its own."""
    import jupytext  # of the site's own environment; what is tested elsewhere does without

    for path in sorted((out / "tutorials").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if not text.startswith("---\nfile_format: mystnb"):
            continue
        place = out / "notebooks" / f"{path.stem}.ipynb"
        place.parent.mkdir(exist_ok=True)
        jupytext.write(jupytext.reads(text.replace("file_format: mystnb\n", ""), fmt="md:myst"), place)
        link = f"{{download}}`This page as a notebook <../notebooks/{place.name}>`"
        path.write_text(re.sub(r"^(# .+)$", rf"\1\n\n{link}", text, count=1, flags=re.M), encoding="utf-8")


def citation() -> str:
    """The page that says how to cite asobiba: `CITATION.cff` as it is."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    return f"# Citing asobiba\n\nThe repository's `CITATION.cff`:\n\n```yaml\n{text}```\n"


LISTINGS = {
    "reproductions": ("Reproductions", "What papers report, played again: each page is written by a command."),
    "leagues": ("Published leagues", "Tables of everybody who plays a game, as `asobiba league publish` wrote them."),
    "policies": ("Trained policies", "How the policies that come with asobiba were trained."),
}


def unlisted(out: Path) -> str:
    """A list of the pages that neither the first page nor that of a folder names, so that every page is found."""
    listed = (out / "index.md").read_text(encoding="utf-8").split("\n")
    folders = {*LISTINGS, "games", "api", "tutorials", "mini4wd"}
    names = [page.removesuffix(".md") for page in pages().values()]
    rest = [name for name in names if name not in (*listed, "index") and name.partition("/")[0] not in folders]
    return "\n".join(["", "```{toctree}", ":hidden:", ":caption: More", "", *rest, "```", ""]) if rest else ""


def listings() -> dict[str, str]:
    """Pages that list the pages of a folder."""
    found = {}
    for folder, (title, what) in LISTINGS.items():
        tree = "```{toctree}\n:maxdepth: 1\n:glob:\n\n*\n```"
        found[f"{folder}/index.md"] = f"# {title}\n\n{what}\n\n{tree}\n"
    return found


def stage(out: Path, revision: str = "main") -> None:
    """Writes all sources of the site into `out`, which is emptied before."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    work = Stage(out, revision)
    for source, page in pages().items():
        text = with_examples((ROOT / source).read_text(encoding="utf-8"))
        work.write(page, work.text(source, page, text).replace(GAMES, games.cards("games/", "media/games/")))
    for page, text in {**games.write_pages(out / "media" / "games"), **api.write_pages()}.items():
        work.write(page, text)
    picture = (out / "media" / "games" / "animal_shogi-begin.svg").read_text(encoding="utf-8")
    Image.fromarray(rasterise(picture)).save(out / "media" / "card.png")  # of the cards that other sites show
    work.write("citation.md", citation())
    with (out / "index.md").open("a", encoding="utf-8") as file:
        file.write(unlisted(out))
    for page, text in listings().items():
        work.write(page, text)
    with (out / "mini4wd" / "index.md").open("a", encoding="utf-8") as file:
        file.write("\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n")
    extra = out / "extra" / "reports"
    extra.mkdir(parents=True)
    for report in sorted((ROOT / "leaderboards").glob("*/report.html")):
        shutil.copy(report, extra / f"{report.parent.name}.html")
    shutil.copytree(HERE / "static", out / "static")
    shutil.copy(HERE / "conf.py", out)
    if importlib.util.find_spec("jupytext"):
        notebooks(out)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "overflow encountered")  # integers that wrap, in kernels that are not compiled
    stage(Path(sys.argv[1]), os.environ.get("SITE_REVISION", "main"))
