"""Writes tests/data/mctx_trees.json: what mctx's Gumbel MuZero policy finds in endless trees with drawn logits and values.

    pip install mctx jax && python tests/mctx_fixture.py

The trees are those of the game `toy_labyrinth`: 64 rooms, of which each has three doors, and two players in turn. Its tables
of logits and values are in the file. Values are weighed as they are, and not rescaled to those of a node, as mctx does unless
it is told otherwise. mctx (Apache-2.0, DeepMind) is not needed to run the tests.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import mctx
import numpy as np

ROOMS, DOORS = 64, 3
_WEIGHED = partial(mctx.qtransform_completed_by_mix_value, value_scale=0.5, rescale_values=False)


def main() -> None:
    generator = np.random.Generator(np.random.Philox(0))
    logits = np.round(generator.normal(size=(ROOMS, DOORS)), 3).astype(np.float32)
    values = np.round(generator.uniform(-0.9, 0.9, ROOMS), 3).astype(np.float32)

    def recurrent(_, key, action, room):
        following = (room * DOORS + action + 1) % ROOMS
        output = mctx.RecurrentFnOutput(
            reward=jnp.zeros(len(room)),
            discount=-jnp.ones(len(room)),
            prior_logits=jnp.asarray(logits)[following],
            value=jnp.asarray(values)[following],
        )
        return output, following

    found = []
    for simulations in (1, 2, 5, 16, 50):
        for considered in (2, 3, 16):
            rooms = jnp.arange(ROOMS)
            root = mctx.RootFnOutput(prior_logits=jnp.asarray(logits), value=jnp.asarray(values), embedding=rooms)
            output = mctx.gumbel_muzero_policy(
                None, jax.random.PRNGKey(0), root, recurrent, simulations,
                max_num_considered_actions=considered, gumbel_scale=0.0, qtransform=_WEIGHED,
            )  # fmt: skip
            summary = output.search_tree.summary()
            found.append(
                {
                    "simulations": simulations,
                    "considered": considered,
                    "actions": np.asarray(output.action).tolist(),
                    "visits": np.asarray(summary.visit_counts).tolist(),
                    "values": np.round(np.asarray(summary.value), 5).tolist(),
                    "policies": np.round(np.asarray(output.action_weights), 5).tolist(),
                }
            )
    data = {"mctx": mctx.__version__, "logits": logits.tolist(), "values": values.tolist(), "searches": found}
    path = Path(__file__).parent / "data" / "mctx_trees.json"
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
