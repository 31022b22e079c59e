"""Base models of settings: strict and frozen, keeping texts as they were written.

Values come from YAML, where a text may look like a number. Knows no setting by name.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema


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
    )


def shape_of(value: object) -> str:
    """Returns the branch of a short-or-long form, so that errors mention only this branch."""
    return "mapping" if isinstance(value, dict | BaseModel) else "scalar"


class Described(GenerateJsonSchema):
    """A JSON schema with the docstring of each setting. They are read when a schema is asked for:
    pydantic's `use_attribute_docstrings` reads them at every start of the program, in 0.3 s."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        described = super().model_schema(schema)
        for name, docstring in _docstrings(schema["cls"]).items():
            described["properties"][name].setdefault("description", docstring)
        return described


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """What follows each setting of a model and of those it is built on: of bases that do not know
    each other, what each says."""
    docstrings: dict[str, tuple[type, str]] = {}
    for base in reversed(model.__mro__[: model.__mro__.index(Strict)]):
        for setting, docstring_node in pairwise(_body_of(base)):
            match setting, docstring_node:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    text = inspect.cleandoc(text)
                    owner, earlier_text = docstrings.get(name, (base, text))
                    if not issubclass(base, owner) and earlier_text != text:
                        text = f"{text} {earlier_text}"
                    docstrings[name] = (base, text)
    return {name: text for name, (_, text) in docstrings.items()}


def _body_of(model: type) -> Sequence[ast.stmt]:
    """Returns the statements of a class; none for a class created at run time."""
    for node in _module(model.__module__).body:
        if isinstance(node, ast.ClassDef) and node.name == model.__name__:
            return node.body
    return ()


@cache
def _module(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[name]))
