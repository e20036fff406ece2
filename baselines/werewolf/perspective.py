"""The multi-perspective agent: it models the others, and each other player's model of the rest.

Source: the psychology-model agent of the GAT 2016 proceedings (in Japanese; N. Nakamura et al., IEEE SSCI 2016). A
psychology table gives every player points for five roles; deeds add points; its rows, normalised, are probabilities.
The own model is the agent's table, the other models are tables of every other player under every role that he
may have, for a wolf one for every set of wolves with him. The point tables are not printed; ours stand in
`perspective.yml`. Equations are numbered as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import yaml

from asobiba.core import Agent, Ruleset
from asobiba.envs.werewolf import layout as game
from asobiba.envs.werewolf.notation import decode, encode

_VILLAGER, _SEER, _MEDIUM, _POSSESSED, _WOLF = range(5)
_COLUMN = {1: _VILLAGER, 2: _SEER, 3: _MEDIUM, 4: _VILLAGER, 5: _POSSESSED, 6: _WOLF}
_CERTAIN = 1.0


@cache
def _points() -> dict[str, Any]:
    text = files("asobiba.baselines.werewolf").joinpath("perspective.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def initial_points(players: int, viewer: int) -> np.ndarray:
    """Equation (2.1): the points `(5,)` of any other player in the eyes of one whose role column is `viewer`."""
    counts = np.zeros(5)
    for role, count in enumerate(game.VILLAGES[players], 1):
        counts[_COLUMN[role]] += count
    counts[viewer] -= 1
    return counts / (players - 1) * 100


def trust_of(probabilities: np.ndarray) -> np.ndarray:
    """Equation (2.2) for rows `(..., 5)`: from -1 (certainly of the wolves' side) to 1."""
    return probabilities[..., :3].sum(axis=-1) - probabilities[..., 3:].sum(axis=-1)


def settle_unique(tables: np.ndarray, village: Sequence[int]) -> None:
    """The end of section 2.6: in tables `(models, players, 5)`, where one player is certain to be the seer, the medium or the
    possessed of a village that has one, the others' points for that role become 0. Who has points for nothing else keeps them:
    two certain ones contradict each other, and the text does not say which gives way."""
    certain = (tables > 0).sum(axis=2) == 1
    for role, column in _COLUMN.items():
        if column in (_SEER, _MEDIUM, _POSSESSED) and village[role - 1] == 1:
            known = (certain & (tables[:, :, column] > 0)).any(axis=1)
            other = known[:, None] & ~certain
            tables[:, :, column] = np.where(other, 0.0, tables[:, :, column])


class PerspectiveAgent(Agent):
    """Plays every role from the tables; draws from a generator of its own where the text says so."""

    name = "perspective"

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset, self._me, self._n = ruleset, seat, ruleset.num_players
        self._generator = np.random.Generator(np.random.Philox(seed))
        self._rows = [0, 0]
        self._day = -1
        self._role = 0
        self._fake: dict[int, int] = {}
        self._claim = 0

    # The tables. A model is one row of `_tables`: whose eyes (`_viewer`), which role (`_assumed`), which wolves.

    def _build(self, view: np.void) -> None:
        n, me = self._n, self._me
        self._role = int(view["role"][me])
        mine = _COLUMN[self._role]
        mates = [k for k in range(n) if int(view["role"][k]) == game.WEREWOLF]
        wolves = game.VILLAGES[n][-1]
        viewers: list[int] = [me]
        assumed: list[int] = [mine]
        packs: list[tuple[int, ...]] = [tuple(mates)]
        extra = {_POSSESSED: (_VILLAGER, _SEER, _MEDIUM), _WOLF: (_VILLAGER,)}.get(mine, ())
        for column in extra:
            viewers.append(me)
            assumed.append(column)
            packs.append(())
        self._own = len(viewers)
        present = {_COLUMN[role] for role, count in enumerate(game.VILLAGES[n], 1) if count}
        for j in range(n):
            if j == me:
                continue
            for column in sorted(present - {_WOLF}):
                if column == mine and column in (_SEER, _MEDIUM, _POSSESSED):
                    continue
                viewers.append(j)
                assumed.append(column)
                packs.append(())
            others = [k for k in range(n) if k not in (me, j)]
            for rest in combinations(others, wolves - 1):
                viewers.append(j)
                assumed.append(_WOLF)
                packs.append((j, *rest))
        self._viewer, self._assumed = np.array(viewers), np.array(assumed)
        self._pack = np.zeros((len(viewers), n), bool)
        for k, pack in enumerate(packs):
            self._pack[k, list(pack)] = True
        self._alive_model = np.ones(len(viewers), bool)
        self._pair_points = np.full(len(viewers), 50.0)
        self._tables = np.stack([np.tile(initial_points(n, column), (n, 1)) for column in assumed])
        for k, pack in enumerate(packs):
            if assumed[k] == _WOLF:
                self._tables[k, :, _WOLF] = 0
                for wolf in pack:
                    self._certain_role(k, wolf, _WOLF)
            column = assumed[k]
            for row in range(n):
                if row == viewers[k]:
                    self._certain_role(k, row, column)

    def _certain_role(self, model: Any, player: int, column: int) -> None:
        self._tables[model, player] = 0
        self._tables[model, player, column] = 100

    def _probabilities(self) -> np.ndarray:
        total = self._tables.sum(axis=2, keepdims=True)
        return np.divide(self._tables, total, out=np.full_like(self._tables, 0.2), where=total > 0)

    def _add(self, models: np.ndarray, player: int, points: Any, weight: Any = 1.0) -> None:
        # Points of 0 rule a role out, and a role that is ruled out stays so (section 2.6).
        points = np.asarray(points, float)
        rows = self._tables[models, player]
        added = rows + points * np.reshape(weight, (-1, 1))
        self._tables[models, player] = np.where((rows == 0) | (points == 0), 0, added)

    def _pair(self, a: int, b: int, points: float) -> None:
        both = self._pack[:, a] & self._pack[:, b]
        wolves = self._assumed == _WOLF
        if points >= 50:
            self._pair_points[wolves & both] += points
        else:
            self._pair_points[wolves & ~both] += 50 - points

    def _not_villager(self, models: Any, player: int) -> None:
        # A contradiction: neither villager nor seer nor medium.
        self._tables[models, player, :3] = 0

    # Takes in the events since the last time.

    def _watch(self, view: np.void) -> None:
        if self._role == 0:
            self._build(view)
        day = int(view["day"])
        for row in view["talk"][self._rows[0] : int(view["talk_rows"])]:
            self._hear(view, int(row[2]) - 1, int(row[3]), int(row[4]) - 1, int(row[5]))
        self._rows[0] = int(view["talk_rows"])
        for past in range(max(self._day, 0), day):
            self._learn_day(view, past)
        self._day = day
        settle_unique(self._tables, game.VILLAGES[self._n])
        self._drop_packs(view)

    def _others(self, speaker: int) -> np.ndarray:
        return self._viewer != speaker  # a player learns nothing from what he says himself

    def _hear(self, view: np.void, speaker: int, act: int, target: int, value: int) -> None:
        points, models = _points(), self._others(speaker)
        if act == game.COMINGOUT and value <= 4:
            self._add(models, speaker, points["claims"][game.ROLES[value - 1]])
            for k in range(self._n):
                if k != speaker and int(view["claimed"][k]) == value:
                    self._pair(speaker, k, points["pairs"]["both_claim"])
        elif act in (game.DIVINED, game.IDENTIFIED):
            self._hear_result(view, speaker, act, target, game.SPECIES[value - 1], models)
        elif act == game.ESTIMATE:
            trust = trust_of(self._probabilities()[models, speaker])
            self._add(models, target, points["estimates"][game.ROLES[value - 1]], (1 + trust) / 2)

    def _hear_result(self, view: np.void, speaker: int, act: int, target: int, result: str, models: np.ndarray) -> None:
        points = _points()
        trust = trust_of(self._probabilities()[models, speaker])
        self._add(models, target, points["results"][result], (1 + trust) / 2)
        self._pair(speaker, target, points["pairs"][result])
        table = view["identified"] if act == game.DIVINED else view["reported"]
        for k in range(self._n):
            told = int(table[k, target])
            if k != speaker and told:
                same = game.SPECIES[told - 1] == result
                self._add(models, speaker, np.maximum(points["agreement"]["same" if same else "other"], 1))
        # Contradictions 2 and 4 of section 2.6: with what the viewer is, and with what the agent knows.
        slandered = models & (self._viewer == target) & (self._assumed != _WOLF)
        if result == "WEREWOLF":
            self._not_villager(slandered, speaker)
        known = self._known(view, target)
        if known and known != result:
            self._not_villager(np.arange(len(self._viewer)) < 1, speaker)
        self._count_enemies(view, speaker)

    def _known(self, view: np.void, target: int) -> str:
        if target == self._me:
            return "WEREWOLF" if self._role == game.WEREWOLF else "HUMAN"
        for field, result in (("divine", "divine_result"), ("executed", "medium_result")):
            for day, found in enumerate(view[field]):
                if int(found) == target + 1 and int(view[result][day]):
                    return game.SPECIES[int(view[result][day]) - 1]
        return ""

    def _count_enemies(self, view: np.void, seer: int) -> None:
        # Contradiction 3: if this claimed seer were one, more than four would be of the wolves' side.
        if int(view["claimed"][seer]) != game.SEER:
            return
        against = {k for k in range(self._n) if k != seer and int(view["claimed"][k]) == game.SEER}
        for t in range(self._n):
            told = int(view["reported"][seer, t])
            if told == game.WOLF:
                against.add(t)
            against |= {k for k in range(self._n) if told and view["identified"][k, t] not in (0, told)}
        if len(against) > game.VILLAGES[self._n][-1] + game.VILLAGES[self._n][-2]:
            self._not_villager(slice(None), seer)

    def _learn_day(self, view: np.void, day: int) -> None:
        points = _points()
        victim, gone = int(view["victim"][day]) - 1, int(view["executed"][day]) - 1
        if victim >= 0:
            self._tables[:, victim, _WOLF] = 0
            for k in range(self._n):
                if int(view["reported"][k, victim]) == game.WOLF:  # contradiction 1
                    self._not_villager(slice(None), k)
        for k, target in enumerate(view["votes"][day, 0][: self._n]):
            if target:
                self._pair(k, int(target) - 1, points["pairs"]["vote"])
        if gone >= 0:
            results = {int(view["identified"][k, gone]) for k in range(self._n)} - {0}
            if len(results) == 1:
                species = game.SPECIES[results.pop() - 1]
                for k, target in enumerate(view["votes"][day, 0][: self._n]):
                    if int(target) == gone + 1:
                        self._add(self._others(k), k, points["votes"][species])
        for field, result in (("divine", "divine_result"), ("executed", "medium_result")):
            target, found = int(view[field][day]) - 1, int(view[result][day])
            if target >= 0 and found == game.WOLF:
                self._certain_role(0, target, _WOLF)
            elif target >= 0 and found:
                self._tables[0, target, _WOLF] = 0

    def _drop_packs(self, view: np.void) -> None:
        # The three conditions of section 2.3.
        alive = np.array([not view["left"][k] for k in range(self._n)])
        wolves = np.array([self._known(view, k) == "WEREWOLF" and k != self._me for k in range(self._n)])
        humans = np.array([self._known(view, k) == "HUMAN" and k != self._me for k in range(self._n)])
        for victim in view["victim"]:
            if victim:
                humans[int(victim) - 1] = True
        if self._role == game.WEREWOLF:
            return  # it knows them all, and what matters is what the others may think
        bad = ~(self._pack & alive).any(axis=1) | (self._pack & humans).any(axis=1) | (wolves & ~self._pack).any(axis=1)
        self._alive_model &= ~(bad & (self._assumed == _WOLF))

    def _confidence(self) -> np.ndarray:
        # Section 2.5: of a role, what the own model thinks; of a set of wolves, its points, normalised.
        own = self._probabilities()[0]
        confidence = own[self._viewer, self._assumed]
        wolves = self._assumed == _WOLF
        confidence[wolves] = np.where(self._alive_model, self._pair_points, 0.0)[wolves]
        for j in range(self._n):
            mine = wolves & (self._viewer == j)
            total = confidence[mine].sum()
            if total > 0:
                confidence[mine] /= total
        confidence[: self._own] = 0
        return confidence

    # Decisions.

    def _scores(self, view: np.void, column: int) -> np.ndarray:
        """The role score of every player (section 3.1)."""
        chances, confidence = self._probabilities(), self._confidence()
        alive = np.array([not view["left"][j] for j in range(self._n)])
        score = np.zeros(self._n)
        for k in range(self._n):
            models = alive[self._viewer] & (self._viewer != k) & (np.arange(len(self._viewer)) >= self._own)
            if models.any():
                score[k] = (chances[models, k, column] * confidence[models]).mean()
        return score

    def _living(self, view: np.void) -> list[int]:
        return [k for k in range(self._n) if not view["left"][k] and k != self._me]

    def _best(self, candidates: list[int], score: np.ndarray) -> int:
        best = max(score[k] for k in candidates)
        return int(self._generator.choice([k for k in candidates if score[k] >= best - 1e-12]))

    def _claimants(self, view: np.void, role: int) -> list[int]:
        return [k for k in range(self._n) if int(view["claimed"][k]) == role and k != self._me]

    def _presumed(self, view: np.void) -> tuple[int, int, int]:
        """The presumed seer, medium and wolf; -1 where there is none."""
        found = []
        for role, column in ((game.SEER, _SEER), (game.MEDIUM, _MEDIUM)):
            claims = self._claimants(view, role)
            found.append(self._best(claims, self._scores(view, column)) if claims else -1)
        rest = [k for k in self._living(view) if k not in found]
        wolf = self._best(rest, self._scores(view, _WOLF)) if rest else -1
        return found[0], found[1], wolf

    def _likely_pack(self, view: np.void) -> list[int]:
        """The living members of the most confident set of wolves that holds the likeliest wolves (section 3.2.1)."""
        seer, medium, wolf = self._presumed(view)
        claims = [k for role in (game.SEER, game.MEDIUM) for k in self._claimants(view, role)]
        suspects = [k for k in claims if k not in (seer, medium)]
        if suspects:
            possessed = self._best(suspects, self._scores(view, _POSSESSED))
            suspects = [k for k in suspects if k != possessed]
        suspects = suspects if len(claims) >= 3 and suspects else [wolf]
        wanted = np.zeros(self._n, bool)
        wanted[[k for k in suspects if k >= 0]] = True
        confidence = np.where(self._assumed == _WOLF, self._confidence(), -1.0)
        holding = confidence * np.where((self._pack & wanted).sum(axis=1) == wanted.sum(), 1.0, 0.0)
        best = int(np.argmax(holding if holding.max() > 0 else confidence))
        living = self._living(view)
        return [k for k in living if self._pack[best, k]]

    def _vote(self, view: np.void) -> int:
        living, column = self._living(view), _COLUMN[self._role]
        score = self._scores(view, _WOLF)
        if column == _WOLF:
            return self._wolf_vote(view, living)
        if column == _POSSESSED:
            rivals = [k for k in living if self._claim and int(view["claimed"][k]) == self._claim]
            if rivals:
                return self._best(rivals, score)
            pack = self._likely_pack(view)
            rest = [k for k in living if k not in pack]
            return self._best(rest or living, score)
        certain = [k for k in living if self._known(view, k) == "WEREWOLF"]
        pack = [k for k in self._likely_pack(view) if self._known(view, k) != "HUMAN"]
        return self._best(certain or pack or living, score)

    def _wolf_vote(self, view: np.void, living: list[int]) -> int:
        humans = [k for k in living if int(view["role"][k]) != game.WEREWOLF] or living
        as_villager = trust_of(self._probabilities()[self._own - 1])
        contradicting = [k for k in humans if as_villager[k] <= -_CERTAIN + 1e-9]
        if contradicting:
            return self._best(contradicting, -as_villager)
        score = self._scores(view, _WOLF)
        three = sorted(humans, key=lambda k: -score[k])[:3]
        # The others' view: a voter is trusted the more, the less they trust the player he votes for.
        trust, confidence = trust_of(self._probabilities()), self._confidence()
        seen = np.array([float((-trust[:, k] * confidence).mean()) for k in range(self._n)])
        return self._best(three, seen)

    def _divine(self, view: np.void, seen: set[int], avoid: int) -> int:
        living = [k for k in self._living(view) if k not in seen]
        pack = [k for k in self._likely_pack(view) if k in living and k != avoid]
        wolf = self._presumed(view)[2]
        pool = pack or ([wolf] if wolf in living else living)
        return self._best(pool, self._scores(view, _WOLF)) if pool else -1

    def _guard(self, view: np.void) -> int:
        living = self._living(view)
        seer, medium, _ = self._presumed(view)
        for one in (seer, medium):
            if one in living:
                return one
        white = [k for k in living if (view["reported"][:, k] == game.HUMAN).any()]
        pack = self._likely_pack(view)
        pool = white or [k for k in living if k not in pack] or living
        return int(self._generator.choice(pool))

    def _attack(self, view: np.void) -> int:
        food = [k for k in self._living(view) if int(view["role"][k]) != game.WEREWOLF]
        for role in (game.SEER, game.MEDIUM):
            if any(v and int(view["claimed"][int(v) - 1]) == role for v in view["victim"]):
                spared = [k for k in food if int(view["claimed"][k]) != role]
                food = spared or food
        return self._best(food, trust_of(self._probabilities()[self._own - 1]))

    # Talk.

    def _wants_to_claim(self, view: np.void) -> int:
        points, claims = _points()["claiming"], view["claimed"][: self._n]
        draw = self._generator.random()
        if self._role in (game.SEER, game.MEDIUM):
            chances = points["seer" if self._role == game.SEER else "medium"]
            wolf = any(self._known(view, k) == "WEREWOLF" for k in range(self._n) if k != self._me)
            rival = bool(self._claimants(view, self._role))
            chance = chances[2] if wolf else chances[1] if rival else chances[0] if not claims.any() else 0.0
            return self._role if draw < chance else 0
        if self._role == game.POSSESSED:
            number = min(int((claims > 0).sum()), 2)
            seer, medium = points["possessed_seer"][number], points["possessed_medium"][number]
            return game.SEER if draw < seer else game.MEDIUM if draw < seer + medium else 0
        if self._role == game.WEREWOLF and (view["reported"][: self._n, self._me] == game.WOLF).any():
            return game.BODYGUARD if draw < 0.5 and game.VILLAGES[self._n][3] else game.VILLAGER
        return 0

    def _invent(self, view: np.void) -> None:
        # A result of the possessed for the last night: the three whom it frames are wolves, the others human.
        day = int(view["day"])
        if day == 0 or self._fake.get(-day):
            return
        self._fake[-day] = 1
        score = self._scores(view, _WOLF)
        rivals = [k for k in self._living(view) if int(view["claimed"][k]) == self._claim]
        framed = sorted(self._living(view), key=lambda k: (k not in rivals, self._fake.get(k) != game.WOLF, -score[k]))[
            :3
        ]
        if self._claim == game.SEER:
            target = self._divine(view, {k for k in self._fake if k >= 0}, -1)
        else:
            target = int(view["executed"][day - 1]) - 1
        if target >= 0 and target not in self._fake:
            self._fake[target] = game.WOLF if target in framed else game.HUMAN

    def _talk(self, view: np.void) -> int:
        seats, me = self._ruleset.seats, self._me
        if int(view["day"]) == 0:
            return 0
        if not self._claim and int(view["claimed"][me]) == 0 and (claim := self._wants_to_claim(view)):
            self._claim = claim
            return int(encode(seats, game.COMINGOUT, -1, claim))
        if self._claim in (game.SEER, game.MEDIUM):
            if self._role == game.POSSESSED:
                self._invent(view)
            act = game.DIVINED if self._claim == game.SEER else game.IDENTIFIED
            told = view["reported" if self._claim == game.SEER else "identified"][me]
            for k in range(self._n):
                result = self._fake.get(k, 0)
                if self._role == self._claim and k != me and (known := self._known(view, k)):
                    result = game.SPECIES.index(known) + 1
                if result and not told[k]:
                    return int(encode(seats, act, k, result))
        target = self._vote(view)
        if int(view["declared"][me]) == 0:
            return int(encode(seats, game.VOTING, target, 0))
        return 0

    def act(self, view: np.void, legal: np.ndarray) -> int:
        self._watch(view)
        phase, seats = int(view["phase"]), self._ruleset.seats
        if phase == game.WHISPER:
            return 0
        if phase == game.TALK:
            action = self._talk(view)
        elif phase == game.VOTE:
            action = int(encode(seats, game.VOTING, self._vote(view), 0))
        elif self._role == game.SEER:
            seen = {int(target) - 1 for target in view["divine"] if target}
            target = self._divine(view, seen, self._vote(view))
            action = 1 if target < 0 else int(encode(seats, game.DIVINATION, target, 0))
        elif self._role == game.BODYGUARD:
            action = int(encode(seats, game.GUARD, self._guard(view), 0))
        else:
            action = int(encode(seats, game.ATTACK, self._attack(view), 0))
        return action if legal[action] else int(np.flatnonzero(legal)[0])


__all__ = ["PerspectiveAgent", "decode", "initial_points", "settle_unique", "trust_of"]
