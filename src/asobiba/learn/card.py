"""The model card of a run: `README.md` beside its policy, as Hugging Face reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from asobiba.learn.curve import pairing


def write_card(folder: str | Path) -> Path:
    """Writes `README.md` from the `run.json` and `config.yml` of a run folder.

    Raises:
        FileNotFoundError: if the folder holds no run.
    """
    folder = Path(folder)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    config = yaml.safe_load((folder / "config.yml").read_text(encoding="utf-8"))
    path = folder / "README.md"
    path.write_text(f"---\n{_metadata(record)}---\n\n{_text(record, config)}", encoding="utf-8")
    return path


def _metadata(record: dict[str, Any]) -> str:
    head = {
        "library_name": "asobiba",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "asobiba", record["game"]],
        "model-index": [
            {
                "name": "policy",
                "results": [
                    {
                        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
                        "dataset": {"name": record["game"], "type": record["game"]},
                        "metrics": [_metric(row) for row in record["evaluation"]],
                    }
                ],
            }
        ],
    }
    return yaml.safe_dump(head, sort_keys=False, allow_unicode=True)


def _metric(row: dict[str, Any]) -> dict[str, Any]:
    if row["opponent"] == "-":
        return {"type": "mean_reward", "name": "mean return", "value": round(row["mean_return"], 4)}
    return {"type": "score", "name": f"score against {pairing(row)}", "value": round(row["score"], 4)}


def _text(record: dict[str, Any], config: dict[str, Any]) -> str:
    name = record["game"].removeprefix("asobiba/").rpartition("-v")[0]
    parameters = ", ".join(f"{key}={value}" for key, value in config["parameters"].items()) or "as usual"
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    by_search = config["algorithm"] == "gumbel_az"
    if by_search:
        trainer = "asobiba.learn.expert.train"
        spent = f"{record['rounds']:,} rounds of self-play, {record['positions']:,} positions"
        searched = max(row["simulations"] for row in record["evaluation"]) or config["simulations"]
        search = f"\n    asobiba evaluate {name} net_uct:policy=policy.safetensors,simulations={searched} -a random"
        begun = f", beginning with the weights `{config['start']}`" if config["start"] else ""
        others = [text for text in dict.fromkeys(config.get("opponents", ())) if text != "self"]  # older runs name none
        against = f"and {', '.join(others)}" if others else "alone"
        taught = f"It learned from games against itself {against}{begun}."
    else:
        trainer, spent, search = "asobiba.learn.training.train", f"{record['steps']:,} decisions", ""
        taught = f"The opponents of the training were {', '.join(config['opponents'])}."
    return f"""# A policy for {record["game"]}

Trained by `{record["command"] or trainer}`: {config["algorithm"]}, {spent},
seed {record["seed"]}, {record["parameters_of_the_network"]:,} numbers in the network. Parameters of the game:
{parameters}.

    asobiba enjoy policy.safetensors --game {name}
    asobiba evaluate {name} sb3:policy.safetensors -a random{search}
    asobiba train {name} --config config.yml -o FOLDER    # trains it again

## Evaluation

{table(record)}

{explained(record)} {taught} Strength
against others, or from other openings, was not measured here.

## Versions

{versions}
"""


def table(record: dict[str, Any]) -> str:
    """The evaluation of a `run.json` as a table: a line for each opponent, with the score from each of two seats."""
    rows = record["evaluation"]
    alone = all(row["opponent"] == "-" for row in rows)
    seats = [seat["seat"] for seat in rows[0].get("seats", ())]  # learning by search tells none
    seats = [] if alone or len(seats) != 2 else seats
    scores = ["score", "95 % interval", *(f"as {seat}" for seat in seats)]
    head = ["games", "distinct", "mean return"] if alone else ["opponent", "games", "distinct", *scores]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        counts = [str(row["games"]), str(row["distinct"])]
        score = [f"{row['score']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}"]
        score += [f"{seat['score']:.3f}" for seat in row["seats"]] if seats else []
        if alone:
            told = [*counts, f"{row['mean_return']:.3f} ± {row['return_half_width']:.3f}"]
        else:
            told = [pairing(row), *counts, *score]
        lines.append(f"| {' | '.join(told)} |")
    return "\n".join(lines)


def explained(record: dict[str, Any]) -> str:
    """How the games of an evaluation were played, in words."""
    games = (
        "Every deal is played from every seat; intervals (95 %) count these games together, and distinct ones only. "
        f"Games begin with {record['opening_plies']} random plies."
    )
    evaluated = record.get("evaluated")
    return games if evaluated is None else f"{games} Written by `{evaluated['command']}`."
