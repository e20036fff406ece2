"""Searches that several games' agents share.

`alpha_beta` searches every two-player game of perfect information without chance; a player may act several times in a
row. A game gives
it a *search module* (by convention `asobiba.baselines.<game>.search_rules`); the search compiles it together with
its own loop, so nothing is called through Python. The module has these names:

* `position_fields(ruleset) -> list`: NumPy field tuples of one position, as compact as the game allows: one is kept
  for each ply. A *node* is a record of these fields and the search's own: `key` (`int64`), `side` (`int8`), `moves` and
  `order` (`int32`, one entry per move).
* `max_moves(ruleset) -> int`: the most moves of any position.
* `WEIGHTS: dict[str, int]`: the evaluation's terms and their default weights; `evaluate` gets them as the record `w`.
* kernel `load(s, p, node)`: fills a node from a state record, `node.key` and `node.side` (0 or 1, the player to move)
  too. `key` tells positions apart: board, hands, player to move. An exact key makes search exact, a 64-bit hash nearly
  so.
* kernel `generate(node, p) -> count`: writes the actions of the player to move into `node.moves[:count]`, and into
  `node.order[:count]` 0 for a quiet move, otherwise a number below 1000, greater for what should be tried first
  (winning moves, captures); equal ones are tried in this order unless history knows better.
* kernel `play(node, child, p, move) -> result`: fills the child's fields, `key` and `side` (the player who acts next)
  after an action. The evaluation's counts are updated here, as fields of the position. The result is 0 where the game
  goes on, 1 if the mover has won, -1 if he has lost, 2 for a draw. It does not look for repetitions: the search does.
* kernel `evaluate(node, p, w) -> score`: a static value (integer between -100,000 and 100,000) for the player to move.
* optional kernel `generate_tactical(node, p) -> count`: as `generate`, only moves that quiescence search follows.
* optional kernel `no_moves(node, p) -> result`: what a position without a move is to the player to move: 1 won, -1 lost
  (so without this kernel), 2 drawn.
* optional kernel `solve(frames, ply, p, budget) -> plies`: a search of threats at the leaves and at the root: in how many
  plies the player to move of `frames[ply]` wins by force (negative: loses), 0 where it finds nothing within `budget`
  positions. It may use the frames beyond `ply`, and writes the first move of a win into `frames[ply].best_move`.
* optional kernel `past_keys(s, p, keys) -> count`: `game_keys` written into `keys`, for targets without Python; not needed
  where the present position stands alone.
* `repetition(ruleset) -> (occurrences, result)`: at which occurrence of a position the game ends (0: never), and what
  the first player then gets: 0 draw, 1, -1.
* `game_keys(ruleset, state) -> array`: `int64` keys of the positions of the game so far, oldest first, the present one
  last; just the present one where the state keeps none.

Then `Searcher(ruleset, depth=8).search(state)` gives the best action, its score, the principal variation and counts.
"""
