"""YAML from outside, with one kind of error."""

from __future__ import annotations

from typing import Any

import yaml


def read_yaml(text: str | bytes) -> Any:
    """The value of a YAML text.

    Raises:
        yaml.YAMLError: for text that is not YAML, is nested too deeply, or holds an impossible value (the 40th of May).
    """
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise yaml.YAMLError(f"it holds something that is not a value: {error}") from None
