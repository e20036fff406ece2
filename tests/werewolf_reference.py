"""An independent plain engine of the werewolf game: sets, dictionaries and text, one village at a time.

It is told what chance decided (the deal, ties, the order of speakers) by the state that the compiled rules reached, and
accepts only what chance could have decided; everything else it works out by itself. Its order of events is the official
servers': in 2016 nobody is dead before the next day begins (`nextDay` marks the dead), and each round of talk asks those
who have not said Over, then those who have, by number, if somebody has spoken since.
"""

from __future__ import annotations

from collections import Counter

ROLES = {1: "VILLAGER", 2: "SEER", 3: "MEDIUM", 4: "BODYGUARD", 5: "POSSESSED", 6: "WEREWOLF"}


class Village:
    """One game. Players count from 1."""

    def __init__(self, state, players, contest, one_by_one=False, max_talk=10):
        self.n, self.contest, self.one_by_one = players, contest, one_by_one
        self.max_talk = max_talk
        self.rounds = 2 * max_talk if contest else max_talk
        self.whisper_rounds = 20 if contest else max_talk
        self.role = {k + 1: ROLES[int(state["role"][k])] for k in range(players)}
        self.alive = set(self.role)
        self.day = 0
        self.executed, self.killed, self.seen, self.identified = {}, {}, {}, {}
        self.winner = None
        self.pending_vote = None
        self._dawn()
        self.phase = "whisper" if contest else "talk"
        self.whispers_in_a_row = 0
        self._skip_empty()

    def _dawn(self):
        self.said = dict.fromkeys(self.role, 0)
        self.whispered = dict.fromkeys(self.role, 0)
        self.skips, self.whisper_skips = dict.fromkeys(self.role, 0), dict.fromkeys(self.role, 0)
        self.over, self.whisper_over = set(), set()
        self.turn, self.whispers, self.ballot, self.spoken, self.loud = 0, 0, 0, set(), False
        self.phase = "talk"
        self.late, self.last_late = set(), 0

    def wolves(self):
        return {k for k in self.alive if self.role[k] == "WEREWOLF"}

    def humans(self):
        return self.alive - self.wolves()

    def speakers(self):
        """The players asked in this turn of talk or whispers, those who have spoken included."""
        group = self.alive if self.phase == "talk" else self.wolves()
        if not self.contest:
            return group - (self.over if self.phase == "talk" else self.whisper_over)
        used = self.said if self.phase == "talk" else self.whispered
        limit = self.max_talk if self.phase == "talk" else 10
        if self.phase == "whisper" and len(group) < 2:
            return set()
        return {k for k in group if used[k] < limit}

    def acting(self):
        if self.phase in ("talk", "whisper"):
            if self.one_by_one and not self.contest:
                return self._next_of_2016()
            return self.speakers() - self.spoken
        if self.phase == "vote":
            return set(self.alive)
        found = set()
        for k in self.alive:
            if self.role[k] == "WEREWOLF" and self.day > 0:
                found.add(k)
            if self.ballot == 0 and (self.role[k] == "SEER" or (self.role[k] == "BODYGUARD" and self.day > 0)):
                found.add(k)
        return found

    def _next_of_2016(self):
        first = (self.alive if self.phase == "talk" else self.wolves()) - self.late - self.spoken
        if first:
            return first  # in an order that chance decided
        quiet = self.over if self.phase == "talk" else self.whisper_over
        waiting = [k for k in sorted(self.late) if k > self.last_late and k not in quiet]
        return set(waiting[:1])

    def targets(self, k):
        """The players that a player may name in the vote or at night."""
        if self.phase == "night" and self.role[k] == "WEREWOLF":
            return self.humans()
        return self.alive - {k}

    def step(self, choices, after):
        """Plays the choices {player: ("OVER",) or (verb, target, ...)}; `after` is the state that chance led to."""
        if self.phase in ("talk", "whisper"):
            self._speak(choices, after)
        elif self.phase == "vote":
            self._vote(choices, after)
        else:
            self._night(choices, after)
        self._skip_empty(after)

    def _speak(self, choices, after):
        talk = self.phase == "talk"
        used, skips = (self.said, self.skips) if talk else (self.whispered, self.whisper_skips)
        silent = set()
        for k, words in choices.items():
            self.spoken.add(k)
            if k in self.late:
                self.last_late = k
            if words[0] == "SKIP" and self.contest:
                skips[k] += 1
                words = ("OVER",) if skips[k] > 2 else words
            if words[0] == "OVER":
                silent.add(k)
                continue
            self.loud = True
            if words[0] != "SKIP":
                skips[k] = 0
                used[k] += 1
        if not self.contest:
            quiet = self.over if talk else self.whisper_over
            spoke = set(choices) - silent
            told = {k + 1 for k, x in enumerate(after["over" if talk else "whisper_over"]) if x}
            same_day = int(after["day"]) == self.day and (talk or int(after["phase"]) == 2)
            if not spoke:
                quiet |= silent
            elif self.one_by_one:
                quiet.clear()
            elif same_day:
                # Who said Over after the last one who did not is in the set; chance decided who that was.
                assert told <= silent, (told, silent)
                quiet.clear()
                quiet |= told
            else:
                quiet.clear()
        if self.one_by_one and self.acting():
            return
        self._close_turn()

    def _close_turn(self):
        if self.phase == "talk":
            self.turn += 1
            self.talking = self.loud and self.turn < self.rounds
            if not self.contest:
                self._whisper()
            elif not self.talking:
                self.phase = "vote"
        else:
            self.whispers_in_a_row += 1
            self.whispers += 1
            if not self.loud or self.whispers_in_a_row >= self.whisper_rounds:
                if self.contest or (not self.talking and self.day == 0):
                    self.phase = "night"
                else:
                    self.phase = "talk" if self.talking else "vote"
        self.spoken, self.loud = set(), False
        self.late, self.last_late = set(self.over if self.phase == "talk" else self.whisper_over), 0

    def _whisper(self):
        self.phase, self.whispers_in_a_row, self.whisper_over = "whisper", 0, set()

    def _skip_empty(self, after=None):
        while self.winner is None and not self.acting():
            if self.phase in ("talk", "whisper"):
                self._close_turn()
            else:
                self._night({}, after)

    def _most(self, counts):
        most = max(counts.values())
        return {k for k, count in counts.items() if count == most}

    def _execute(self, votes, after):
        top = self._most(Counter(votes.values()))
        if len(top) > 1 and self.contest and self.ballot == 0:
            self.ballot = 1
            return False
        gone = int(after["executed"][self.day])
        assert gone in top, (gone, top)
        self.ballot = 0
        self.executed[self.day] = gone
        if self.contest:
            self.alive.discard(gone)
        self.identified[self.day] = "WEREWOLF" if self.role[gone] == "WEREWOLF" else "HUMAN"
        return True

    def _vote(self, choices, after):
        votes = {k: words[1] for k, words in choices.items()}
        if self.contest:
            if self._execute(votes, after):
                self._whisper()
        else:
            self.pending_vote, self.phase = votes, "night"

    def _night(self, choices, after):
        for k, words in choices.items():
            if self.role[k] == "SEER" and words[0] != "SKIP":
                self.seen[self.day] = (words[1], "WEREWOLF" if self.role[words[1]] == "WEREWOLF" else "HUMAN")
        if self.ballot == 0:
            self.guarded = next((w[1] for k, w in choices.items() if self.role[k] == "BODYGUARD" and w[0] != "SKIP"), 0)
            self.guard = next((k for k in choices if self.role[k] == "BODYGUARD"), 0)
        attacks = {k: w[1] for k, w in choices.items() if self.role[k] == "WEREWOLF" and w[0] != "SKIP"}
        if not self.contest and self.day > 0:
            self._execute(self.pending_vote, after)
        gone = self.executed.get(self.day)
        if self.day > 0 and self.wolves() - {gone}:
            counts = Counter(self.humans())
            counts.update(target for k, target in attacks.items() if k != gone)
            top = self._most(counts)
            if len(top) > 1 and self.contest and self.ballot == 0:
                self.ballot = 1
                return
            victim = int(after["victim"][self.day])
            guarded = self.guarded if self.guard in self.alive and self.guard != gone else 0
            if victim:
                assert victim in top - {gone}, (victim, top)
                assert victim != guarded, "a guarded player died"
                self.killed[self.day] = victim
            else:
                assert top & {gone, guarded}, "nobody died without a reason"
        self.alive -= {gone, self.killed.get(self.day)}
        self.day += 1
        if not self.wolves():
            self.winner = "VILLAGER"
        elif len(self.humans()) <= len(self.wolves()):
            self.winner = "WEREWOLF"
        else:
            self._dawn()
