"""What every registered game must do. No game is named here; see asobiba.conformance."""

from __future__ import annotations

import pytest
from asobiba import conformance, game, game_names


@pytest.mark.parametrize("check", conformance.CHECKS)
@pytest.mark.parametrize("name", game_names())
def test_conformance(name, check):
    conformance.CHECKS[check](game(name))
