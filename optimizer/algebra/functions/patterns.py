"""Regular expressions as RE2 reads them, in time linear in the text."""

from __future__ import annotations

from optimizer.algebra.functions.declaration import declared

FUNCTIONS = (
    declared(
        "REGEXP_MATCHES(text string, pattern pattern, options? options) -> boolean",
        "Whether a pattern is found in a text. Also text ~ pattern.",
        "REGEXP_MATCHES('UA1545', '^UA[0-9]+$')",
    ),
    declared(
        "REGEXP_FULL_MATCH(text string, pattern pattern, options? options) -> boolean",
        "Whether a pattern matches a whole text. Also text SIMILAR TO pattern.",
        "REGEXP_FULL_MATCH('UA1545', '[A-Z]+')",
    ),
    declared(
        "REGEXP_REPLACE(text string, pattern pattern, by string, options? options) -> string",
        "The text with the first match replaced, or with the option 'g' all; \\1 is the first group.",
        "REGEXP_REPLACE('UA1545', '[0-9]', '#', 'g')",
    ),
    declared(
        "REGEXP_EXTRACT(text string, pattern pattern, group? group, options? options) -> string",
        "The first match of a pattern, or a group of it; empty where there is none.",
        "REGEXP_EXTRACT('UA1545', '([A-Z]+)([0-9]+)', 2)",
    ),
    declared(
        "REGEXP_ESCAPE(text string) -> string",
        "The text as a pattern that matches just it.",
        "REGEXP_ESCAPE('a.b')",
    ),
)
