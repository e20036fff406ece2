"""Werewolf (人狼), as the AIWolf platform plays it.

## Description

A village of 5 to 15 players talks by day and votes on whom to execute; at night the werewolves kill one player. Only
the werewolves know each other. Every night the seer learns whether one player is a human or a werewolf, the medium
learns the same of the player executed that day, and the bodyguard guards one player against the attack. The possessed
appears human but wins with the werewolves. The villagers win when all werewolves are dead; the werewolves win when the
humans no longer outnumber them.

Two generations of the platform are played (`rules`):

* `2016`, the engine of the papers. Day 0 has talk and a divination. Every day has up to 10 rounds of talk, each
  followed by up to 10 rounds of whispers among the wolves. A player who said `Over` is not asked again until somebody
  says something other than `Over`; a round of nothing but `Over` ends the talk. Then one ballot is held; ties are drawn
  by lot. The seer, the bodyguard and the wolves choose before they know who is executed. The execution follows, then
  the attack. It fails if its victim is guarded by a bodyguard who was not executed, or if the victim himself was
  executed.
* `0.6`, the contest engine since 2020. No talk on day 0, but whispers and a divination. Every day: up to 20 turns of
  talk with 10 utterances a player (`Skip` and `Over` are free, more than two `Skip` in a row count as `Over`), a vote
  with one ballot more after a tie, the execution, whispers if two wolves or more are alive, and the choices of the
  night, with one ballot more among the wolves after a tie.

In both, a wolf's ballot counts if its target is human, and every living human has one ballot more (in 2016 also a human
executed that day), so that somebody is attacked even if the wolves do not vote. There is no attack after the last wolf
was executed.

All players who act in a step act simultaneously. In a round of talk (`talk="round"`) everybody decides before anybody
hears the others, and the utterances are then heard in random order. With `talk="turn"` the players speak one after the
other in that order, as in the platform's engines of 2016 and since 2019.

No view tells who acts at night or how much was whispered. A player who is not asked sees the phase "wait" and none of
the counters that advance meanwhile. At the end everything is shown. `resample` draws roles and a past that agree with
everything a seat was told. PettingZoo's `agent_selection` is for the program that runs the game, not for the players:
in every step it goes through the players who act, in the order of their seats, so at night it reveals the wolves, the
seer and the bodyguard.

## Action Space

`Discrete(8 + 19 n)` for arrays of n seats (293 for 15): Over, Skip, COMINGOUT as one of six roles, then blocks with one
action for each target: ESTIMATE (six roles), DIVINED and IDENTIFIED (human, werewolf), GUARDED, VOTE, ATTACK, AGREE,
DISAGREE (with the target's latest utterance today), DIVINATION, GUARD, VOTED, ATTACKED. The last four were added to the
platform in 2017 and are words of talk in `0.6` only. Votes are cast with VOTE, choices of the night made with
DIVINATION, GUARD and ATTACK; there Skip chooses nobody.

With `operators`, sentences of protocol 3.6 are composed word by word, each word one decision, the operator first:
REQUEST and INQUIRE with a target, BECAUSE, NOT, AND, OR, XOR, and DAY with a day, nested at most twice; AND and OR and
XOR take two sentences. `Discrete(13 + 21 n + days)`.

An action outside the mask is replaced (`faults="replace"`) as on the platform: by silence in talk, by a vote for a
random other living player in a ballot, by no choice at night.

## Observation Space

One flat int8 vector of these channels; n seats in the arrays, d = n - 1 days, of which day 0 is the first. Players
count from 1 where a channel holds a number, and 0 means nobody. Everything that the seat is not told is 0.

| channel | shape | content |
|---|---|---|
| seat, players, alive | (n,) | the own seat, the seats in play, the living players |
| phase | (5,) | wait, talk, whisper, vote, night |
| time | (3,) | day, turn of the talk or whispers, ballot |
| role, known_roles | (6,), (n, 6) | villager, seer, medium, bodyguard, possessed, werewolf |
| known_species | (n, 2) | human, werewolf: results of the own ability |
| claims | (n, 6) | the role that each player claims |
| reports, identifications | (n, n, 2) | what each player said to have divined, or identified as a medium |
| declared | (n, n) | for whom each player said today that he will vote |
| over, remaining | (n,) | players whose last word is Over, utterances left today |
| draft | (7, 3) | the words of the own sentence so far |
| executed, victims | (d,) | the players who died by day and by night |
| divined, medium, guarded, attacks | (d, 2), (d,), ... | the own abilities' history |
| votes, attack_votes | (d, 2, n) | every ballot |
| talk, whispers | (rows, 6) | day, turn, speaker, act, target, role, species or day; a word a row |

`Skip` and `Over` fill no row. `claims` and the channels like it only summarise the talk.

## Rewards

+1 for every player of the winning team, -1 for the others. Two options add to this: `survival` is paid to every living
player when a day begins; `execution` is paid when somebody is executed, plus for a member of the other team and minus
for one of the own. The latter reveals the team of the executed player, which no player of the platform is told. The
terms stand in `info` as `win`, `survival`, `execution`.

## Starting State

Roles are dealt at random, or as `deal` says.

## Episode End

The game ends when a day begins and no wolf is alive, or the humans do not outnumber the wolves.

## Arguments

* `players` (15): 5 to 15, with the platform's role tables.
* `rules` ("2016"): "2016" or "0.6".
* `talk` ("round"): "round" or "turn".
* `max_talk` (10): utterances of a player in a day, 1 to 10 (in 2016, rounds).
* `operators` (False): sentences with operators.
* `deal` (""): roles by seat, one letter each of v s m b p w, or ? for a drawn one; compiled policies can read it.
* `seats` (15): seats in the arrays, at least `players`. All villages with the same `seats` share compiled code.
* `survival`, `execution` (0): optional rewards.

Left out, and why: free text and the words `ANY`, a subject other than the speaker, claims for others, more than two
operands (the action space would grow without bound or meaning); guarding the dead and divining oneself (no effect);
the fox and the freemason (in no village); reply times (the hosted game has them); `maxAttackRevote` 0 and the other
settings of the platform that its contests never changed. At most 360 whispers that say something are heard in a game of
15; then wolves say Over or Skip. That many do not happen in `0.6`, where a wolf has ten a day.

## State

* `phase`, `day`, `turn`, `whisper_turn`, `whisper_round`, `ballot`: where the game is; `whisper_turn` counts in the
  day, `whisper_round` since the whispers began. `loud`: somebody said something else than Over in this turn. `talking`:
  talk goes on after the whispers. `cursor`, `order`: the speakers' order and who of them is next.
* `role` (1 villager to 6 werewolf, 0 not known), `team` (0 villagers, 1 wolves, -1 not known).
* `over`, `skips`, `remaining`, `said`, and `whisper_over`, `whisper_skips`, `whisper_remaining`, `whispered`: of every
  player today: said Over, Skips in a row, utterances left, turn of the last one (from 1).
* `claimed` (role), `declared` (player), `reported`, `identified` (species by speaker and target): what was asserted.
* `words`, `draft`: how many words of a sentence are said, and they: act, target, value.
* `executed`, `victim`, `attack`, `divine`, `divine_result`, `medium_result`, `guard`: by day, players from 1.
* `votes`, `attack_votes`: by day, ballot and voter. `talk_rows`, `talk`, `whisper_rows`, `whispers`: the tables.
* `win_reward`, `survival_reward`, `execution_reward`: the terms of the last step's rewards.

## References

* AIWolf project (人狼知能プロジェクト): platform, protocol and regulations, engines of March 2016 and 0.6.
* N. Kanda and T. Ito, "Verification of Accepted Theories in Werewolf AI Environment", GAT 2016 (in Japanese).

## Version History

* v1 (2026-11-23): in 2016, a human executed that day stays among the targets of the attack, who said Over comes last in a
  round of `talk="turn"`, and whispers have `max_talk` rounds, as in the engine.
* v0 (2026-11-22): first version.
"""

from __future__ import annotations

from asobiba.api import expose
from asobiba.core import Game
from asobiba.envs.werewolf import rules
from asobiba.envs.werewolf.layout import village

GAME = Game(
    name="werewolf",
    version=1,
    title="Werewolf",
    layout=village,
    rules=rules,
    information="hidden",
    chance=True,
    utility="general_sum",
    turns="some",
    leaves=True,
    teams="team",
    faults="replace",
    reward_range=(-2.0, 3.0),
    variants={
        "village_5": {"players": 5},
        "village_11": {"players": 11},
        "0.6": {"rules": "0.6"},
        "village_5_0.6": {"players": 5, "seats": 5, "rules": "0.6"},
        "in_turn": {"talk": "turn"},
    },
    notation="asobiba.envs.werewolf.notation",
    draw="asobiba.envs.werewolf.draw",
    evidence="games of the official servers of both generations, packet by packet; an independent plain engine",
)

env, raw_env, parallel_env = expose(GAME)
