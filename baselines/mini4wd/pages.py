"""The pages of the mini 4WD that commands write."""

from __future__ import annotations

from pathlib import Path

from asobiba.pages import Page, reproduction_modules


def _page(name: str, module: str, expected: float | None = None) -> Page:
    path = f"docs/reproductions/mini4wd-{name}.md"
    command = f"asobiba mini4wd {name} --output {path}"
    return Page(path, command, reproduction_modules("mini4wd", module), expected=expected)


def _learning(root: Path) -> str:
    from asobiba.baselines.mini4wd.learning_page import page

    runs = root / "baselines/mini4wd/policies"
    return page(runs, runs / "sac", runs / "general", "mini4wd-learning.svg", _LEARNING)


_LEARNING = (
    "asobiba mini4wd learning-page --sac baselines/mini4wd/policies/sac --general baselines/mini4wd/policies/general "
    "--output docs/reproductions/mini4wd-learning.md"
)
_CALIBRATION, _UNSEEN = "docs/reproductions/mini4wd-calibration.md", "docs/reproductions/mini4wd-unseen.md"
PAGES = (
    Page(
        "docs/reproductions/mini4wd.md",
        "asobiba reproduce mini4wd --output docs/reproductions/mini4wd.md",
        ("asobiba.envs.mini4wd", "asobiba.baselines.mini4wd.published"),
    ),
    _page("controllers", "report", expected=2400.0),
    _page("ranges", "ranges", expected=900.0),
    _page("sides", "sides"),
    Page(
        _CALIBRATION,
        f"asobiba hil calibration-page --output {_CALIBRATION}",
        reproduction_modules("mini4wd", "calibration_page"),
    ),
    Page(
        _UNSEEN,
        f"asobiba mini4wd unseen plan_cem predict --output {_UNSEEN}\n"
        f"asobiba mini4wd unseen plan_cem constant:duty=1.0 predict --side simulator --output {_UNSEEN} --add",
        reproduction_modules("mini4wd", "unseen"),
    ),
    Page(
        "docs/reproductions/mini4wd-learning.md",
        _LEARNING,
        ("asobiba.baselines.mini4wd.learning_page",),
        whole=_learning,
    ),
)
