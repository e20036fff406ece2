"""Writes tests/data/rliable_iqm.json: what rliable says of drawn scores, the interquartile mean and its 95 % interval.

    pip install "arch==5.6.0" "numpy<2" absl-py && pip install --no-deps rliable==1.0.8 && python tests/rliable_fixture.py

rliable 1.0.8 itself asks for arch 5.3.0, which has no build for Python 3.11, and its bootstrap does not run with arch 8.0.0.
rliable (Apache-2.0, Google) is not needed to run the tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from rliable import library, metrics

RUNS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 20)
"""Numbers of runs; a quarter of some of them is no whole number."""
RESAMPLES = 50_000


def main() -> None:
    generator = np.random.Generator(np.random.Philox(0))
    found = []
    for runs in RUNS:
        scores = np.round(generator.beta(2, 1, runs), 4)[:, None]
        np.random.seed(0)  # noqa: NPY002 - what rliable draws from
        means, intervals = library.get_interval_estimates(
            {"": scores}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=RESAMPLES
        )
        low, high = intervals[""][:, 0]
        found.append({"scores": scores[:, 0].tolist(), "mean": float(means[""][0]), "low": low, "high": high})
    path = Path(__file__).parent / "data" / "rliable_iqm.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
