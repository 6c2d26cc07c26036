"""Parameters: named values above a query's text.

A parameter is declared on a comment line before SELECT, so that a text with parameters is still one
text, which is versioned, compared and sent around as a whole:

    -- :wind = 20
    SELECT w.at FROM weather [RANGE 1 HOUR] AS w WHERE w.wind_speed > :wind
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from optimizer.algebra.identifiers import nearest
from optimizer.sql.grammar.places import SourceText

_DECLARATION = re.compile(r"[ \t]*--[ \t]*:(?P<name>\w+)[ \t]*=[ \t]*(?P<value>[^\r\n]*?)[ \t]*(?=[\r\n]|\Z)")
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_STRING = re.compile(r"'(?:[^']|'')*'")
_WORDS = {"true": TokenType.TRUE, "false": TokenType.FALSE, "null": TokenType.NULL}
_BEHIND_VALUE = re.compile(r"[\w\])'\"]")
"""Characters directly behind which a colon begins no parameter, as in `list[1:2]`."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared value."""

    name: str
    kind: TokenType
    text: str


def parameters_of(text: SourceText, first: Token | None) -> dict[str, Parameter]:
    """Parameters declared in comment lines above the query, by their folded names.

    Raises `InputError` for a value that is none, and for a second declaration.
    """
    found: dict[str, Parameter] = {}
    end = len(text.text) if first is None else first.start
    at = 0
    while at < end:
        match = _DECLARATION.match(text.text, at, end)
        if match is not None:
            name, span = match["name"], (match.start("name") - 1, match.end("name"))
            if name.casefold() in found:
                raise text.error(span, "duplicate-parameter", f"parameter :{name} twice", "one value for it")
            found[name.casefold()] = _parameter(text, match)
        newline = text.text.find("\n", at, end)
        at = end if newline < 0 else newline + 1
    return found


def _parameter(text: SourceText, match: re.Match[str]) -> Parameter:
    name, value = match["name"], match["value"]
    if _NUMBER.fullmatch(value):
        return Parameter(name, TokenType.NUMBER, value)
    if _STRING.fullmatch(value):
        return Parameter(name, TokenType.STRING, value[1:-1].replace("''", "'"))
    if value.lower() in _WORDS:
        return Parameter(name, _WORDS[value.lower()], value)
    span = match.span("value") if value else (match.start("name") - 1, match.end("name"))
    raise text.error(
        span,
        "bad-parameter",
        value or f"no value for :{name}",
        "a number, a text in quotes, TRUE, FALSE or NULL",
        f"'{value}'" if value and "'" not in value else None,
    )


def with_values(
    text: SourceText, tokens: Sequence[Token], parameters: Mapping[str, Parameter]
) -> list[Token]:
    """The tokens with a literal in place of every `:name`, at the place of the name.

    Raises `InputError` for a name that is not declared.
    """
    filled: list[Token] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        name = tokens[position + 1] if position + 1 < len(tokens) else None
        if name is None or not _is_reference(text.text, token, name):
            filled.append(token)
            position += 1
            continue
        found = parameters.get(name.text.casefold())
        if found is None:
            names = [one.name for one in parameters.values()]
            close = nearest(name.text, names)
            raise text.error(
                (token.start, name.end + 1),
                "unknown-parameter",
                f"parameter :{name.text}",
                f"one of {', '.join(f':{one}' for one in names)}"
                if names
                else f"a line above the query that declares it: -- :{name.text} = 10",
                f":{close}" if close else None,
            )
        filled += _literal(found, token, name)
        position += 2
    return filled


def _literal(value: Parameter, colon: Token, name: Token) -> Iterator[Token]:
    """The value's tokens, all at the place of `:name`."""
    number, place = value.text, (colon.line, name.col, colon.start, name.end)
    if value.kind is TokenType.NUMBER and number.startswith("-"):
        yield Token(TokenType.DASH, "-", *place, [])
        number = number[1:]
    yield Token(value.kind, number, *place, [*colon.comments, *name.comments])


def _is_reference(text: str, colon: Token, name: Token) -> bool:
    if colon.token_type is not TokenType.COLON or name.start != colon.end + 1:
        return False
    if not re.fullmatch(r"\w+", text[name.start : name.end + 1]):
        return False
    return colon.start == 0 or not _BEHIND_VALUE.match(text[colon.start - 1])
