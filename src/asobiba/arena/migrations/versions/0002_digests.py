"""Digests for every match, containment of agents, teams."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
_PAGE = 5000


def upgrade() -> None:
    """Adds the columns and seals what is there: from now on changes are found."""
    import numpy as np

    from asobiba.arena.match import REASONS, Match
    from asobiba.arena.seals import content, seals, text_hash

    op.add_column("matches", sa.Column("contained", sa.Text, nullable=False, server_default=""))
    op.add_column("matches", sa.Column("content", sa.BigInteger))
    op.add_column("matches", sa.Column("seal", sa.BigInteger))
    op.add_column("seats", sa.Column("team", sa.Integer))
    connection = op.get_bind()
    after = -1
    while True:
        rows = connection.execute(
            sa.text(
                "SELECT m.id, m.key, m.seed, m.winner, m.moves, m.reason, m.culprit, m.actions, m.detail, m.digest, "
                "r.game, r.version, r.parameters FROM matches m JOIN rulesets r ON r.id = m.ruleset "
                "WHERE m.id > :after ORDER BY m.id LIMIT :page"
            ),
            {"after": after, "page": _PAGE},
        ).all()
        if not rows:
            return
        seats = connection.execute(
            sa.text(
                'SELECT s.match, a.name, s."return" AS gained, s.decisions, s.seconds, s.tie_break FROM seats s '
                "JOIN agents a ON a.id = s.agent WHERE s.match > :after AND s.match <= :last ORDER BY s.match, s.seat"
            ),
            {"after": after, "last": rows[-1].id},
        ).all()
        of_match: dict = {}
        for seat in seats:
            of_match.setdefault(seat.match, []).append(seat)
        updates = []
        for row in rows:
            mine = of_match.get(row.id, [])
            try:
                match = Match(row.game, row.version, json.loads(row.parameters), tuple(s.name for s in mine), row.seed)
                if match.key != row.key:
                    continue  # it has no seal, and is found as damaged
                inner = content(row.actions, row.detail, row.digest, "")
                breaks = [np.nan if s.tie_break is None else s.tie_break for s in mine]
                columns = [
                    np.array([row.seed]), np.array([row.winner]), np.array([row.moves]),
                    np.array([REASONS.index(row.reason)]), np.array([-1 if row.culprit is None else row.culprit]),
                    np.array([inner]), np.array([[text_hash(s.name) for s in mine]]),
                    np.array([[s.gained for s in mine]], np.float64), np.array([[s.decisions for s in mine]], np.int64),
                    np.array([[s.seconds for s in mine]], np.float64), np.array([breaks], np.float64),
                    np.array([list(range(len(mine)))]),
                ]  # fmt: skip
                updates.append({"number": row.id, "content": inner, "seal": int(seals([row.key], columns)[0])})
            except (TypeError, ValueError, AttributeError):
                continue
        if updates:
            connection.execute(
                sa.text("UPDATE matches SET content = :content, seal = :seal WHERE id = :number"), updates
            )
        after = rows[-1].id


def downgrade() -> None:
    """Takes the columns away; the copy that was kept is the better way back."""
    for table, column in (("matches", "contained"), ("matches", "content"), ("matches", "seal"), ("seats", "team")):
        op.drop_column(table, column)
