"""Where a SELECT's clauses stand in the text.

sqlglot's trees keep the places of names only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_ENDING = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SEMICOLON})
_FIRST = frozenset({TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH})
_BEHIND_GROUPS = _FIRST | {TokenType.HAVING, TokenType.QUALIFY, TokenType.WINDOW, TokenType.ORDER_BY}


@dataclass(frozen=True, slots=True)
class Clauses:
    """The tokens of one SELECT, from that word to the end of its last clause."""

    tokens: tuple[Token, ...]
    depths: tuple[int, ...]
    """How many brackets of the SELECT's own each token stands in."""

    @property
    def distinct(self) -> tuple[int, int] | None:
        """The span of DISTINCT with the space behind it."""
        if len(self.tokens) < 3 or self.tokens[1].token_type is not TokenType.DISTINCT:
            return None
        return self.tokens[1].start, self.tokens[2].start

    @property
    def behind_groups(self) -> int:
        """The offset at which GROUP BY ends, or where it would stand."""
        place = self._first(_BEHIND_GROUPS)
        return self.tokens[place - 1].end + 1

    @property
    def order(self) -> tuple[int, int] | None:
        """The span of ORDER BY with the space before it.

        None where LIMIT or OFFSET asks for the order.
        """
        begin = self._first(frozenset({TokenType.ORDER_BY}))
        if begin == len(self.tokens) or self._first(_FIRST) < len(self.tokens):
            return None
        return self.tokens[begin - 1].end + 1, self.tokens[-1].end + 1

    def _first(self, kinds: frozenset[TokenType]) -> int:
        """The number of the first of some words outside brackets.

        Behind the last token if there is none.
        """
        words = enumerate(zip(self.tokens, self.depths, strict=True))
        return next(
            (n for n, (token, depth) in words if depth == 0 and token.token_type in kinds), len(self.tokens)
        )


def clauses_of(select: exp.Select, tokens: Sequence[Token]) -> Clauses:
    """The clauses of a SELECT that was parsed from these tokens.

    >>> from optimizer.conversion.binary.dialect import read_statement
    >>> from optimizer.sql.grammar.places import SourceText
    >>> from optimizer.sql.grammar.syntax import tokens_of
    >>> text = SourceText("SELECT k FROM (SELECT k FROM a ORDER BY k) AS t ORDER BY k", "q")
    >>> clauses_of(read_statement(text), tokens_of(text)).order
    (47, 58)
    """
    first, _ = select.expressions[0].meta["text"]
    begin = max(
        number
        for number, token in enumerate(tokens)
        if token.token_type is TokenType.SELECT and token.start < first
    )
    found: list[Token] = []
    depths: list[int] = []
    depth = 0
    for token in tokens[begin:]:
        kind = token.token_type
        depth -= kind in _CLOSING
        if depth < 0 or (depth == 0 and kind in _ENDING):
            break
        found.append(token)
        depths.append(depth)
        depth += kind in _OPENING
    return Clauses(tuple(found), tuple(depths))
