"""SQL text laid out evenly, token by token, so that its meaning cannot change.

The formatter moves line breaks and spaces, writes keywords in capitals, and leaves every
other token and every comment as the user wrote it: windows keep their form, names their
case, and unnamed output columns their names.
"""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token, TokenType

from optimizer.sql.grammar.places import SourceText
from optimizer.sql.grammar.syntax import comment_end, read_statement, written_tokens

_INDENT = "  "
_KEYWORDS = frozenset(
    """SELECT FROM WHERE AND OR NOT JOIN INNER CROSS LEFT RIGHT FULL OUTER ASOF EXISTS ON USING AS BETWEEN IN
    LIKE ILIKE IS NULL TRUE FALSE CASE WHEN THEN ELSE END INTERVAL DISTINCT HAVING FILTER ALL
    WITH UNION""".split()  # noqa: SIM905 - a list of words reads better so
)
_CLAUSES = {
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.UNION,
    TokenType.SELECT,
}
_LISTS = {TokenType.SELECT, TokenType.FROM}
"""Clauses with a line for each entry."""
_SIDES = {TokenType.LEFT, TokenType.RIGHT, TokenType.FULL}
_JOIN_STARTS = {
    TokenType.JOIN,
    TokenType.INNER,
    TokenType.CROSS,
    TokenType.OUTER,
    TokenType.ASOF,
    *_SIDES,
}
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET}
_SPACED = {
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.LT,
    TokenType.LTE,
    TokenType.GT,
    TokenType.GTE,
    TokenType.DPIPE,
}
_SHIFTS = {TokenType.LT, TokenType.GT}
"""Two of one are << or >>."""


def format_query(text: str) -> str:
    """The query with one clause, one output column and one predicate per line.

    >>> print(format_query("select r.a, b from r [range 1 minute], s where r.k=s.k and b>1"))
    SELECT
      r.a,
      b
    FROM r [RANGE 1 minute],
      s
    WHERE r.k = s.k
      AND b > 1
    <BLANKLINE>
    >>> print(format_query("select left(r.a, 1) from r [range 1 minute] left join s on r.k=s.k"), end="")
    SELECT
      left(r.a, 1)
    FROM r [RANGE 1 minute]
    LEFT JOIN s ON r.k = s.k
    >>> print(format_query("select 1 from r asof join s on r.k=s.k and r.at>=s.at"), end="")
    SELECT
      1
    FROM r
    ASOF JOIN s ON r.k = s.k
      AND r.at >= s.at

    Raises `InputError` for a text that is no single SELECT.
    """
    source = SourceText(text, "query")
    read_statement(source)
    return _Layout(text).write(written_tokens(source))


_VERSION = re.compile(r"\bFOR\s+SYSTEM_TIME\s+AS\s+OF\b", re.IGNORECASE)


class _Layout:
    def __init__(self, text: str) -> None:
        self._text = text
        self._versions = [found.span() for found in _VERSION.finditer(text)]
        """Where keywords stand that are names elsewhere."""
        self._parts: list[str] = []
        self._depth = 0
        self._cases = 0
        self._clause = TokenType.SELECT
        self._between = False
        """True behind BETWEEN, whose AND joins no predicates."""

    def write(self, tokens: list[Token]) -> str:
        previous: Token | None = None
        for token in tokens:
            if token.token_type is TokenType.SEMICOLON:
                break
            comments = self._gap_comments(previous, token)
            separator = self._separator(previous, token)
            gap = " " if previous else ""
            for comment in comments:
                self._parts.append(f"{gap}{comment}")
                gap = " "
                if comment.startswith("--"):
                    # Whatever followed on its line would become a part of it.
                    separator = separator if "\n" in separator else "\n" + (_INDENT if previous else "")
                    gap = "\n" + (_INDENT if previous else "")
            self._parts.append(separator if previous or comments else "")
            self._parts.append(self._written(previous, token))
            self._track(token)
            previous = token
        tail = self._text[previous.end + 1 :] if previous else ""
        gap = " "
        for comment in _comments(tail):
            self._parts.append(f"{gap}{comment}")
            gap = "\n" if comment.startswith("--") else " "
        return "".join(self._parts).strip() + "\n"

    def _gap_comments(self, previous: Token | None, token: Token) -> list[str]:
        return _comments(self._text[previous.end + 1 if previous else 0 : token.start])

    def _separator(self, previous: Token | None, token: Token) -> str:
        """What stands between two tokens: a line break, a space or nothing."""
        if previous is None:
            return ""
        kind, before = token.token_type, previous.token_type
        if self._depth == 0 and self._cases == 0:
            starts = before is TokenType.SELECT and kind is not TokenType.DISTINCT
            starts = starts or (before is TokenType.DISTINCT and self._clause is TokenType.SELECT)
            if starts or (before is TokenType.COMMA and self._clause in _LISTS):
                return "\n" + _INDENT
            if kind in _CLAUSES:
                return "\n"
            if kind in _JOIN_STARTS and before not in _JOIN_STARTS and not self._is_called(token):
                return "\n"
            if kind is TokenType.AND and not self._between:
                return "\n" + _INDENT
        if kind is TokenType.COMMA or kind in _CLOSING or before in _OPENING:
            return ""
        touching = previous.end + 1 == token.start
        if touching and kind is before and kind in _SHIFTS:
            return ""
        if before is TokenType.COMMA or kind in _SPACED or before in _SPACED:
            return " "
        return "" if touching else " "

    def _written(self, previous: Token | None, token: Token) -> str:
        text = self._text[token.start : token.end + 1]
        window = previous is not None and previous.token_type is TokenType.L_BRACKET
        if token.token_type is TokenType.GROUP_BY:
            return "GROUP BY"
        if any(start <= token.start and token.end < end for start, end in self._versions):
            return text.upper()
        keyword = token.token_type is not TokenType.VAR and text.upper() in _KEYWORDS
        keyword = keyword and not self._is_called(token)
        if previous is not None and previous.token_type in (TokenType.DOT, TokenType.ALIAS):
            return text
        return text.upper() if keyword or (window and text.upper() == "RANGE") else text

    def _is_called(self, token: Token) -> bool:
        """True for the function LEFT, which is no side of a join."""
        return token.token_type in _SIDES and self._text[token.end + 1 :].lstrip().startswith("(")

    def _track(self, token: Token) -> None:
        kind = token.token_type
        if kind in _OPENING:
            self._depth += 1
        elif kind in _CLOSING:
            self._depth -= 1
        elif kind is TokenType.CASE:
            self._cases += 1
        elif kind is TokenType.END and self._cases:
            self._cases -= 1
        elif self._depth == 0 and self._cases == 0:
            if kind in _CLAUSES:
                self._clause = kind
            elif kind is TokenType.BETWEEN:
                self._between = True
            elif kind is TokenType.AND:
                self._between = False


def _comments(gap: str) -> list[str]:
    """The comments between two tokens, where else there are only spaces."""
    found, at = [], 0
    while at < len(gap):
        if gap.startswith("--", at):
            end = gap.find("\n", at)
            end = len(gap) if end < 0 else end
            found.append(gap[at:end].rstrip())
        elif gap.startswith("/*", at):
            end = comment_end(gap, at) or len(gap)
            found.append(gap[at:end])
        else:
            end = at + 1
        at = end
    return found
