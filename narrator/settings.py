"""Models of settings: strict and frozen, with texts as they were written.

Values come from YAML, where a text may look like a number. Knows no setting by name.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Integer(int):
    """A YAML integer that remembers how it was written ("0123" is an ISBN, not 83)."""

    written: str


class Decimal(float):
    """A YAML float that remembers how it was written."""

    written: str


def _as_text(value: object) -> object:
    return value.written if isinstance(value, Integer | Decimal) else value


Written = BeforeValidator(_as_text, json_schema_input_type=str | int | float)
Text = Annotated[str, Written, Field(min_length=1)]


class Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
