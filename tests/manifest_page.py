"""The schema of book.yaml -> docs/manifest.md; run by `make docs`, held current by test_docs.py."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from narrator.project.schema import schema

PAGE = Path(__file__).parents[1] / "docs" / "manifest.md"

HEAD = (
    "Every key of a manifest, with its values, default and meaning. `NAME` is a name of your own, "
    "`[]` each entry of a list. [The script](script.md) has a small manifest, "
    "[examples/](../examples/README.md) the smallest one for each feature. This page is made from "
    "the schema by `make docs`; `narrator schema` prints the same schema for editors."
)

Schema = Mapping[str, Any]


def page() -> str:
    """Returns the page."""
    manifest = schema()
    models: dict[str, list[str]] = {}
    for name, place in _places(manifest, manifest["$defs"], ""):
        models.setdefault(name, []).append(place)
    anchors = {name: slug(places[0]) for name, places in models.items()}
    parts = ["# book.yaml\n", HEAD + "\n", "## At the top\n", _table(manifest, anchors)]
    for name, places in models.items():
        model = manifest["$defs"][name]
        other_places = f" The same under {_and(places[1:])}." if places[1:] else ""
        parts += [f"## {places[0]}\n", _prose(model["description"]) + other_places + "\n"]
        parts.append(_table(model, anchors))
    return "\n".join(parts)


def slug(heading: str) -> str:
    """Returns the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _places(model: Schema, models: Schema, place: str) -> Iterator[tuple[str, str]]:
    """Yields every model in a model, with its place in a manifest, before those in it."""
    for key, value in model["properties"].items():
        for name, ending in _models_of(value):
            below = f"{place}.{key}{ending}" if place else f"{key}{ending}"
            engine = _engine(models[name])
            yield name, f"{below} of {engine}" if engine else below
            yield from _places(models[name], models, below)


def _engine(model: Schema) -> str:
    """Returns the engine whose settings a model is, or ""."""
    return str(model["properties"].get("name", {}).get("const", ""))


def _models_of(value: Schema) -> Iterator[tuple[str, str]]:
    """Yields the models that a value may be, each with its path below the key."""
    if "$ref" in value:
        yield value["$ref"].rpartition("/")[2], ""
    for choice in value.get("anyOf", value.get("oneOf", ())):
        yield from _models_of(choice)
    for inner, step in (("items", "[]"), ("additionalProperties", ".NAME")):
        if isinstance(value.get(inner), Mapping):
            yield from ((name, step + ending) for name, ending in _models_of(value[inner]))


def table(*rows: Sequence[str]) -> str:
    """Returns a table in Markdown; the first row has the headings."""
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |\n" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]) + "\n")
    return "".join(lines)


def _table(model: Schema, anchors: Mapping[str, str]) -> str:
    rows = [("key", "values", "default", "meaning")]
    for key, value in model["properties"].items():
        default = "**required**" if key in model.get("required", ()) else _default(value)
        meaning = value.get("description") or schema()["$defs"][_name(value)]["description"]
        rows.append((f"`{key}`", _takes(value, anchors), default, _prose(meaning)))
    return table(*rows)


def _name(value: Schema) -> str:
    return next(_models_of(value))[0]


def _prose(text: str) -> str:
    """Returns a docstring in one line, with fields of templates as code."""
    text = " ".join(text.split())
    return re.sub(r"(?<!`)(\{[^}]*\}|\[[^\]]*\])", r"`\1`", text)


def _default(value: Schema) -> str:
    default = value.get("default")
    if default in (None, {}, [], "") or "$ref" in value or isinstance(default, Mapping):
        return ""
    text = default if isinstance(default, str) else json.dumps(default).replace('"', "")
    return f"`{text.removesuffix('.0')}`"


def _takes(value: Schema, anchors: Mapping[str, str]) -> str:
    """Describes the values of a key."""
    if "$ref" in value:
        anchor = anchors[_name(value)]
        of = re.search(r"-of-\w+$", anchor)
        return f"[keys{of[0].replace('-', ' ') if of else ''}](#{anchor})"
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if choices := value.get("anyOf", value.get("oneOf")):
        return _one_of(choices, anchors)
    if "prefixItems" in value:
        return "two " + _takes(value["prefixItems"][0], anchors).replace("number", "numbers")
    match value["type"]:
        case "array":
            return "list of " + _takes(value["items"], anchors)
        case "object":
            return "NAME: " + _takes(value["additionalProperties"], anchors)
        case "boolean":
            return "`true`, `false`"
        case "string":
            return "text"
        case kind:
            return ("whole number" if kind == "integer" else "number") + _bounds(value)


def _one_of(choices: Sequence[Schema], anchors: Mapping[str, str]) -> str:
    """Describes a choice. A number without bounds is left out beside text: it is for text that YAML
    takes for a number. So is null, which leaves the key unset."""
    kinds = {json.dumps(choice): choice for choice in choices if choice.get("type") != "null"}
    if '{"type": "string"}' in kinds:
        kinds.pop('{"type": "integer"}', None)
        kinds.pop('{"type": "number"}', None)
    words = [_takes(choice, anchors) for choice in kinds.values()]
    if len(words) == 2 and words[1] == f"list of {words[0]}":
        words[1] = "a list of them"
    return " or ".join(dict.fromkeys(words))


def _bounds(value: Schema) -> str:
    least, most = value.get("minimum"), value.get("maximum")
    if "exclusiveMaximum" in value:
        return f" from {least}"
    if "exclusiveMinimum" in value:
        return f" over {value['exclusiveMinimum']:g}"
    if most is None:
        return "" if least is None else f" from {least:g}"
    return f", {least:g} to {most:g}"


def _and(places: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(f"`{p}`" for p in places[:-1]), f"`{places[-1]}`")))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
