"""Zod parsers and types in TypeScript, made of JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from graphlib import TopologicalSorter
from typing import Any

from pydantic import TypeAdapter

from jobs.protocol import AnyEvent

Schema = Mapping[str, Any]
_SCALARS = {"integer": "whole", "number": "z.number()", "string": "z.string()", "boolean": "z.boolean()"}
_HEAD = """/** %s. Written by `python -m tests.generated`: do not edit. */
import { z } from "zod";

const whole = %s;
"""
_GRAPH = """export type Expression = Column | Literal | Call;
export type Rule = PhysicalGraph["rules"][number];

/** Parse a document; throws `z.ZodError` naming the path of what does not fit. */
export const parseGraph = (document: unknown): PhysicalGraph => physicalGraph.parse(document);
"""


def live_parsers(openapi: Schema) -> str:
    """The events of `jobs.protocol`, and the snapshot that the API answers.

    What an older job leaves out of an event has its default.
    """
    events = TypeAdapter(AnyEvent).json_schema()
    schemas = {**openapi["components"]["schemas"], **events.pop("$defs"), "LiveEvent": events}
    kinds = events["discriminator"]["mapping"]
    return "\n".join(
        [
            _HEAD % ("Live messages, checked at the socket", "z.number().int()"),
            *_declarations(["LiveEvent", "Snapshot"], schemas),
            "/** The names under which the events arrive, `reset` apart. */",
            f"export const EVENT_TYPES = {json.dumps(list(kinds))} as const;\n",
        ]
    )


def graph_parsers(graph: Schema) -> str:
    """The physical graph as the optimizer writes it, from its JSON Schema.

    Its whole numbers may be any: a window in microseconds can be longer than JavaScript counts exactly.
    """
    schemas = {**graph["$defs"], "PhysicalGraph": graph}
    head = _HEAD % ("The physical graph, as answers have it", "z.number()")
    return "\n".join([head, *_declarations(["PhysicalGraph"], schemas), _GRAPH])


def _declarations(names: list[str], schemas: Mapping[str, Schema]) -> Iterator[str]:
    wanted: dict[str, list[str]] = {}
    while names:
        name = names.pop()
        if name not in wanted:
            wanted[name] = sorted(set(_references(schemas[name])) - {name})
            names.extend(wanted[name])
    for name in TopologicalSorter(wanted).static_order():
        yield _declared(name, schemas[name])


def _declared(name: str, schema: Schema) -> str:
    variable = _variable(name)
    return f"export const {variable} = {_parser(schema)};\nexport type {name} = z.infer<typeof {variable}>;\n"


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield _name(schema)
        for key, part in schema.items():
            if key != "discriminator":
                yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _variable(name: str) -> str:
    return name[0].lower() + name[1:]


def _parser(schema: Schema, depth: int = 0) -> str:
    """Raises `KeyError` for a kind of schema that none of the messages has had so far."""
    parser = partial(_parser, depth=depth)
    parts = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if parts is not None:
        kinds = [parser(part) for part in parts if part != {"type": "null"}]
        if len(kinds) > 1 and all("$ref" in part for part in parts if part != {"type": "null"}):
            tag = schema.get("discriminator", {}).get("propertyName", "kind")
            found = f"z.discriminatedUnion({json.dumps(tag)}, [{', '.join(kinds)}])"
        else:
            found = kinds[0] if len(kinds) == 1 else f"z.union([{', '.join(kinds)}])"
        return found + (".nullable()" if schema.get("nullable") or {"type": "null"} in parts else "")
    if "nullable" in schema:
        return f"{parser({key: value for key, value in schema.items() if key != 'nullable'})}.nullable()"
    if "$ref" in schema:
        return _variable(_name(schema))
    if "const" in schema:
        return f"z.literal({json.dumps(schema['const'])})"
    if "enum" in schema:
        return f"z.enum({json.dumps(schema['enum'])})"
    if not schema:
        return "z.unknown()"
    if "prefixItems" in schema:
        return f"z.tuple([{', '.join(map(parser, schema['prefixItems']))}])"
    if schema["type"] == "array":
        return f"z.array({parser(schema['items'])})"
    if schema["type"] == "object" and "properties" in schema:
        return _object(schema, depth)
    if schema["type"] == "object":
        return f"z.record(z.string(), {parser(schema['additionalProperties'])})"
    return _SCALARS[schema["type"]]


def _object(schema: Schema, depth: int) -> str:
    lines = ["z.object({"]
    indent = "  " * (depth + 1)
    for name, part in schema["properties"].items():
        if "description" in part:
            lines.append(f"{indent}/** {' '.join(part['description'].split())} */")
        found = _parser(part, depth + 1)
        if "const" not in part and name not in schema.get("required", ()):
            found += f".default({json.dumps(part['default'])})" if "default" in part else ".optional()"
        own = schema.get("title") in _references(part)
        lines.append(f"{indent}get {name}() {{ return {found}; }}," if own else f"{indent}{name}: {found},")
    return "\n".join([*lines, "  " * depth + "})"])
