"""Secrets that seeds follow from, the list of a ruleset's matches, and both and the time under the seal."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
_PAGE = 5000
_MASK = (1 << 63) - 1


def upgrade() -> None:
    """Gives every match its place; those that agree with the seal they have get a new one, the others none."""
    op.create_table(
        "secrets",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("ruleset", sa.Integer, sa.ForeignKey("rulesets.id"), nullable=False),
        sa.Column("bits", sa.String(32), nullable=False),
        sa.Column("seed", sa.BigInteger),
        sa.Column("made_at", sa.String(25), nullable=False),
        sa.Column("published_at", sa.String(25)),
        sa.UniqueConstraint("ruleset", "bits"),
    )
    op.add_column("matches", sa.Column("secret", sa.Integer))
    op.add_column("matches", sa.Column("sequence", sa.Integer))
    connection = op.get_bind()
    lists: dict[int, tuple[int, int]] = {}
    after = -1
    while rows := _page(connection, after):
        last = rows[-1].id
        seats = connection.execute(
            sa.text(
                'SELECT s.match, a.name, s."return" AS gained, s.decisions, s.seconds, s.tie_break, s.team FROM seats s '
                "JOIN agents a ON a.id = s.agent WHERE s.match > :after AND s.match <= :last ORDER BY s.match, s.seat"
            ),
            {"after": after, "last": last},
        ).all()
        of_match: dict = {}
        for seat in seats:
            of_match.setdefault(seat.match, []).append(seat)
        updates = []
        for row in rows:
            count, total = lists.get(row.ruleset, (0, 0))
            seal = _new_seal(row, of_match.get(row.id, []), count)
            lists[row.ruleset] = (count + 1, (total + (seal or 0)) & _MASK)
            updates.append({"number": row.id, "sequence": count, "seal": seal})
        connection.execute(sa.text("UPDATE matches SET sequence = :sequence, seal = :seal WHERE id = :number"), updates)
        after = last
    for ruleset, (count, total) in lists.items():
        connection.execute(
            sa.text("INSERT INTO asobiba_meta (name, value) VALUES (:name, :value)"),
            {"name": f"list {ruleset}", "value": f"{count} {total}"},
        )


def _page(connection, after):
    query = (
        "SELECT m.id, m.key, m.seed, m.winner, m.moves, m.reason, m.culprit, m.content, m.seal, m.played_at, m.ruleset "
        "FROM matches m WHERE m.id > :after ORDER BY m.id LIMIT :page"
    )
    return connection.execute(sa.text(query), {"after": after, "page": _PAGE}).all()


def _new_seal(row, seats, place):
    import numpy as np

    from asobiba.arena.match import REASONS
    from asobiba.arena.seals import seals, text_hash

    try:
        breaks = [np.nan if s.tie_break is None else s.tie_break for s in seats]
        teams = [k if s.team is None else s.team for k, s in enumerate(seats)]
        columns = [
            np.array([row.seed]), np.array([row.winner]), np.array([row.moves]), np.array([REASONS.index(row.reason)]),
            np.array([-1 if row.culprit is None else row.culprit]), np.array([row.content]),
            np.array([[text_hash(s.name) for s in seats]]), np.array([[s.gained for s in seats]], np.float64),
            np.array([[s.decisions for s in seats]], np.int64), np.array([[s.seconds for s in seats]], np.float64),
            np.array([breaks], np.float64), np.array([teams]),
        ]  # fmt: skip
        if int(seals([row.key], columns)[0]) != row.seal:
            return None  # it was damaged before, and is found as damaged
        columns += [np.array([place]), np.array([text_hash(row.played_at)]), np.array([0])]
        return int(seals([row.key], columns)[0])
    except (TypeError, ValueError, AttributeError, OverflowError):
        return None


def downgrade() -> None:
    """The copy that was kept is the way back: the older seals are gone."""
    raise NotImplementedError("a store of format 3 has no way back; use the copy that was kept beside it")
