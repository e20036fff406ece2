"""The first format, as the first release wrote it."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing to do: stores of this format exist."""


def downgrade() -> None:
    """There is nothing before it."""
