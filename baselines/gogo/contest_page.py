"""The page of the contest: the paper's four checks, the bars of WWG over time, the candlestick charts of students."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.arena.wwg import simple_degree, weighted_degree
from asobiba.baselines.gogo import REFERENCES
from asobiba.baselines.gogo.contest import DAYS, Checks, Contest, check
from asobiba.core import MissingExtra


def write_page(contest: Contest, output: Path, command: str) -> str:
    """Writes the page and its pictures beside it; returns what it says of the checks."""
    found = check(contest)
    pictures = [output.with_name(f"{output.stem}_{name}.svg") for name in ("bars", "candles", "separation")]
    _draw(contest, pictures)
    text = _checks(contest, found)
    final = contest.daily[-1]
    ranking = "\n".join(
        f"| {name} | {final[k]:.3f} | {1 + int((final > final[k]).sum())} |" for k, name in enumerate(REFERENCES)
    )
    output.write_text(
        f"""# Gogo: the contest replayed

Written by `{command}`.

{len(contest.strategies) - len(REFERENCES)} strategies of {len(set(contest.student.tolist()) - {-1})} simulated students over {DAYS} days, beside the five references;
{contest.games:,} games by the thinned schedule. The students are rule files that are mutated where people would think, so the
paper's own numbers are not expected, only what it says of its rating (Hanakawa and Tominaga, sections 5 and 7).

{text}

| reference | WWG | rank of {len(contest.strategies)} |
|---|---|---|
{ranking}

![Each strategy at its day of submission: the range of its daily WWG, and its last value]({pictures[0].name})

![Score charts of four students: first value, last value, range]({pictures[1].name})

![WWG against SWG]({pictures[2].name})
""",
        encoding="utf-8",
    )
    return text


def _checks(contest: Contest, found: Checks) -> str:
    spans = ", ".join(f"week {k}: {span:.3f}" for k, span in enumerate(found.spans, 1))
    return "\n".join(
        (
            f"* Convergence: after {found.steps} iterations no WWG is more than 0.001 from its limit, after "
            f"{found.steps_ranks} no rank changes any more (the paper: 3 to 6 iterations).",
            f"* Validity: {found.king_makers} king-makers, who play like the strategy below their friend and always lose to "
            f"him, lift him from the middle of the table by {found.lifted} ranks under WWG, by {found.lifted_simple} under "
            "SWG (the paper: they do not lift him above those that beat him).",
            f"* Separation: Spearman's rho between WWG and SWG is {found.rho:.4f} (the paper: above 0.99).",
            f"* Stability: mean range of the daily WWG of the strategies of each week: {spans} (the paper: it becomes smaller "
            "as the contest goes on).",
        )
    )


def _draw(contest: Contest, paths: list[Path]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    plt.rcParams.update({"svg.hashsalt": "asobiba", "font.size": 9})
    table = np.array(contest.daily)
    references = len(REFERENCES)

    figure, axes = plt.subplots(figsize=(8, 4.5))
    for k in range(references, len(contest.strategies)):
        known = table[:, k][~np.isnan(table[:, k])]
        axes.plot([contest.day[k]] * 2, [known.min(), known.max()], color="#9db4c8", linewidth=1)
        axes.plot(contest.day[k], known[-1], ".", color="#1f4e79", markersize=3)
    for k, name in enumerate(REFERENCES):
        axes.plot(range(1, DAYS + 1), table[:, k], linewidth=1.5, label=name)
    axes.set(xlabel="day of submission", ylabel="WWG", ylim=(0, 1))
    axes.legend(fontsize=7, loc="upper left")
    _save(figure, paths[0], plt)

    last = table[-1]
    students = sorted(set(contest.student.tolist()) - {-1}, key=lambda s: -np.nanmax(last[contest.student == s]))
    shown = [students[i] for i in np.linspace(0, len(students) - 1, 4).round().astype(int)]
    figure, grid = plt.subplots(2, 2, figsize=(8, 6), sharey=True)
    for axes, student in zip(grid.ravel(), shown):
        rows = np.flatnonzero(contest.student == student)
        for k in rows.tolist():
            known = table[:, k][~np.isnan(table[:, k])]
            rising = known[-1] >= known[0]
            axes.plot([contest.day[k]] * 2, [known.min(), known.max()], color="#555", linewidth=1)
            axes.bar(
                contest.day[k], abs(known[-1] - known[0]), bottom=min(known[0], known[-1]), width=0.7,
                color="#ffffff" if rising else "#333333", edgecolor="#333333", zorder=2,
            )  # fmt: skip
        axes.plot(contest.day[rows], last[rows], color="#b3261e", linewidth=1)
        axes.set(title=f"student {student}", xlim=(0, DAYS + 1), ylim=(0, 1))
    _save(figure, paths[1], plt)

    figure, axes = plt.subplots(figsize=(4.5, 4.5))
    axes.plot([0, 1], [0, 1], color="#999", linewidth=1)
    axes.plot(
        simple_degree(contest.points, contest.played),
        weighted_degree(contest.points, contest.played),
        ".",
        markersize=3,
    )
    axes.set(xlabel="SWG", ylabel="WWG", xlim=(0, 1), ylim=(0, 1))
    _save(figure, paths[2], plt)


def _save(figure, path: Path, plt) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
