"""JSON in columns of text; text that is no JSON gives NULL."""

from __future__ import annotations

from optimizer.algebra.functions.declaration import declared

FUNCTIONS = (
    declared(
        "JSON_EXTRACT_STRING(json string, path path) -> string",
        "What stands at a path, a string without its quotes. Also json ->> path.",
        """JSON_EXTRACT_STRING('{"gate": {"no": "B7"}}', '$.gate.no')""",
        aliases=("json_extract_path_text",),
    ),
    declared(
        "JSON_EXISTS(json string, path path) -> boolean",
        "Whether something stands at a path.",
        """JSON_EXISTS('{"gate": null}', '$.gate')""",
    ),
    declared(
        "JSON_TYPE(json string, path? path) -> string",
        "The type of what stands at a path: OBJECT, ARRAY, VARCHAR, ...",
        """JSON_TYPE('{"stops": [1, 2]}', '$.stops')""",
    ),
    declared(
        "JSON_ARRAY_LENGTH(json string, path? path) -> bigint",
        "How many elements an array has; 0 for anything else.",
        """JSON_ARRAY_LENGTH('{"stops": [1, 2]}', '$.stops')""",
        duckdb="CAST(json_array_length({args}) AS BIGINT)",
    ),
    declared(
        "JSON_CONTAINS(json string, part string) -> boolean",
        "Whether JSON has other JSON in it.",
        """JSON_CONTAINS('{"a": 1, "b": 2}', '{"b": 2}')""",
    ),
    declared("JSON_VALID(text string) -> boolean", "Whether a text is JSON.", "JSON_VALID('{}')"),
)
