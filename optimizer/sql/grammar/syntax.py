"""SQL text to a syntax tree of one SELECT, or an error under the right word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from optimizer.algebra.errors import InputError
from optimizer.algebra.identifiers import nearest
from optimizer.sql.grammar.dialect import PositionedError, SyntaxFault, Windowed, WindowedParser
from optimizer.sql.grammar.parameters import parameters_of, with_values
from optimizer.sql.grammar.places import SourceText

KEYWORDS = ("FROM", "WHERE", "JOIN", "INNER JOIN", "CROSS JOIN", "USING", "BETWEEN", "LIKE", "RANGE")
MAX_CHARACTERS = 100_000
MOST_SELECTS = 32
"""That UNION ALL joins: each is planned as a query of its own, and the parser goes one deeper for each."""
MAX_NESTING = 24
"""Parentheses within parentheses; the parser's own recursion ends somewhat later."""
_DIALECT = Windowed()
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_SET_OPERATIONS = {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT}
_BEHIND = (("order", "ORDER BY", TokenType.ORDER_BY), ("limit", "LIMIT", TokenType.LIMIT))
_EXPECTING = re.compile(r"^(?:Expecting|Expected) (.+)$", re.IGNORECASE)


def read_statement(text: SourceText) -> exp.Query:
    """The syntax tree of the one query in a text: SELECTs that UNION ALL joins.

    Raises `InputError` for everything else: no statement, several, another kind, or text
    that is no SQL.
    """
    tokens = tokens_of(text)
    _check_shape(text, tokens)
    statements = [tree for tree in parsed(text, tokens, WindowedParser.parse) if tree is not None]
    if len(statements) != 1 or not isinstance(statements[0], exp.Select | exp.Union):
        raise text.error(None, "syntax", "text that is no query", "SELECT ... FROM ... WHERE ...")
    return statements[0]


def selects_of(text: SourceText, statement: exp.Expr) -> list[exp.Select]:
    """The SELECTs that UNION ALL joins, in their order.

    Raises `InputError` for what stands around them.
    """
    if isinstance(statement, exp.Select):
        return [statement]
    if isinstance(statement, exp.Union) and not statement.args.get("distinct"):
        for clause, words, kind in _BEHIND:
            if statement.args.get(clause):
                span = keyword_span(text, frozenset({kind}))
                raise text.error(span, "unsupported", f"{words} of UNION ALL", "all results")
        return [*selects_of(text, statement.left), *selects_of(text, statement.right)]
    raise text.error(None, "unsupported", "queries in brackets", "SELECT ... UNION ALL SELECT ...")


def read_streams(statement: exp.Query) -> Iterator[exp.Table]:
    """The entries of FROM that are neither subqueries nor named by WITH."""
    named = {cte.alias.casefold() for cte in statement.find_all(exp.CTE)}
    return (table for table in statement.find_all(exp.Table) if table.name.casefold() not in named)


def read_condition(text: SourceText) -> exp.Expr:
    """The syntax tree of a condition that stands alone, such as `r.a = s.a`.

    Raises `InputError`.
    """
    tokens = tokens_of(text)
    if not tokens:
        raise text.error((0, 1), "empty", "no condition", "a condition such as r.a = s.a")
    check_nesting(text, tokens)
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise text.error(_span(token), "syntax", ";", "one condition")
    tree = parsed(text, tokens, WindowedParser.condition)
    if tree is None:
        raise text.error(None, "syntax", "text that is no condition", "a condition such as r.a = s.a")
    return tree


Parsed = TypeVar("Parsed")


def parsed(
    text: SourceText,
    tokens: list[Token],
    parse: Callable[[WindowedParser, list[Token], str], Parsed],
    dialect: Dialect = _DIALECT,
) -> Parsed:
    """What a parser of the dialect makes of the tokens.

    Raises `InputError` where it makes nothing.
    """
    parser = dialect.parser(error_level=ErrorLevel.IMMEDIATE)
    assert isinstance(parser, WindowedParser)
    try:
        return parse(parser, tokens, text.text)
    except SyntaxFault as fault:
        raise _syntax_error(text, fault.span, fault.expected, fault.code) from None
    except PositionedError as error:
        raise _syntax_error(text, error.span, _expected(error.description)) from None
    except RecursionError:
        raise text.error(None, "too-deep", "expressions nested too deeply", "a flatter query") from None
    except (ParseError, ValueError, TypeError, AttributeError, LookupError, AssertionError) as error:
        # The parser stumbles over some malformed texts instead of refusing them.
        raise text.error(None, "syntax", "text that is no query", "SELECT ... FROM ... WHERE ...") from error


def tokens_of(text: SourceText) -> list[Token]:
    """The tokens of a text, parameters replaced by their values.

    Raises `InputError` for characters and quotes that are none, and for parameters without a value.
    """
    tokens = written_tokens(text)
    return with_values(text, tokens, parameters_of(text, tokens[0] if tokens else None))


def written_tokens(text: SourceText) -> list[Token]:
    """The tokens of a text as they stand there.

    Raises `InputError` for characters and quotes that are none.
    """
    for code in ("\0", "\ufeff"):
        at = text.text.find(code)
        if at >= 0:
            raise text.error((at, at + 1), "syntax", f"the character U+{ord(code):04X}", "printable text")
    for at, character in enumerate(text.text):
        if "\ud800" <= character <= "\udfff":
            raise text.error(
                (at, at + 1), "syntax", f"half a character U+{ord(character):04X}", "valid Unicode"
            )
    if len(text.text) > MAX_CHARACTERS:
        found = f"{len(text.text)} characters"
        raise text.error((0, 1), "too-long", found, f"at most {MAX_CHARACTERS}")
    try:
        return _DIALECT.tokenize(text.text)
    except TokenError as error:
        opening = _unclosed(text.text)
        if opening is not None:
            quote = text.text[opening]
            words = "a comment" if quote == "/" else f"text that starts with {quote}"
            closing = "*/" if quote == "/" else quote
            raise text.error((opening, opening + 1), "syntax", words, f"a closing {closing}") from error
        raise text.error(None, "syntax", "text that cannot be read", "a query") from error


def comment_end(text: str, at: int) -> int | None:
    """The offset behind the comment that opens at `at`; None if it never ends.

    Comments nest.

    >>> comment_end("/* a /* b */ */ SELECT", 0), comment_end("/* open", 0)
    (15, None)
    """
    depth = 0
    while at < len(text):
        if text.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif text.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if depth == 0:
                return at
        else:
            at += 1
    return None


def _unclosed(text: str) -> int | None:
    """Where the quote or comment starts that never ends."""
    at = 0
    while at < len(text):
        if text.startswith("--", at):
            line_end = text.find("\n", at)
            if line_end < 0:
                return None
            at = line_end + 1
        elif text.startswith("/*", at):
            closing = comment_end(text, at)
            if closing is None:
                return at
            at = closing
        elif text[at] in "'\"":
            quote, start = text[at], at
            at += 1
            while True:
                at = text.find(quote, at)
                if at < 0:
                    return start
                if text[at + 1 : at + 2] != quote:
                    break
                at += 2
            at += 1
        else:
            at += 1
    return None


def _check_shape(text: SourceText, tokens: list[Token]) -> None:
    """What is clearer said about tokens than about a tree: one SELECT, not too deep."""
    if not tokens or all(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise text.error((0, 1), "empty", "no query", "SELECT ... FROM ... WHERE ...")
    first = tokens[0]
    if first.token_type not in (TokenType.SELECT, TokenType.WITH):
        raise text.error(_span(first), "syntax", _quote(first), "SELECT")
    ended, depth, before = False, 0, TokenType.SEMICOLON
    joined = 0
    check_nesting(text, tokens)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if ended and kind is not TokenType.SEMICOLON:
            raise text.error(_span(token), "several-statements", "a second statement", "one SELECT")
        if kind is TokenType.SEMICOLON:
            ended = True
        elif kind in _SET_OPERATIONS and before is not TokenType.DOT:
            joined += 1
            if joined == MOST_SELECTS:
                expected = f"at most {MOST_SELECTS} SELECTs"
                raise text.error(_span(token), "too-many-selects", f"{MOST_SELECTS} UNION ALLs", expected)
            everything = following is not None and following.token_type is TokenType.ALL
            if kind is not TokenType.UNION or not everything:
                raise text.error(_span(token), "unsupported", token.text.upper(), "UNION ALL")
        before = kind


def check_nesting(text: SourceText, tokens: list[Token]) -> None:
    """Check that brackets come in pairs, and not too deep for the parser's recursion."""
    opened: list[Token] = []
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            opened.append(token)
            if len(opened) > MAX_NESTING:
                raise text.error(
                    _span(token), "too-deep", f"more than {MAX_NESTING} nested parentheses", "a flatter query"
                )
        elif kind in _CLOSING:
            if not opened:
                raise text.error(
                    _span(token), "syntax", _quote(token), "no closing bracket, or an opening one"
                )
            opened.pop()


def is_plain_identifier(name: str) -> bool:
    """True if a name is an identifier without quotes: a word that is no keyword.

    >>> is_plain_identifier("origin"), is_plain_identifier("select")
    (True, False)
    """
    if not (name.isidentifier() and name.isascii()):
        return False
    tokens = _DIALECT.tokenize(name)
    return len(tokens) == 1 and tokens[0].token_type is TokenType.VAR


def keyword_span(text: SourceText, kinds: frozenset[TokenType]) -> tuple[int, int] | None:
    """Where the first of some keywords stands outside parentheses."""
    depth = 0
    for token in _DIALECT.tokenize(text.text):
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
        elif depth == 0 and token.token_type in kinds:
            return _span(token)
    return None


def _syntax_error(
    text: SourceText, span: tuple[int, int] | None, expected: str, code: str = "syntax"
) -> InputError:
    misspelt = _misspelt_keyword(text, span)
    if misspelt is not None:
        token, keyword = misspelt
        return text.error(_span(token), code, token.text, "a keyword", keyword)
    if span is None:
        return InputError(code, text.end(), "the end of the query", expected)
    return text.error(span, code, text.text[span[0] : span[1]], expected)


def _misspelt_keyword(text: SourceText, span: tuple[int, int] | None) -> tuple[Token, str] | None:
    """The word at an error, or just before it, if it is nearly a keyword.

    FORM, say, was read as an alias.
    """
    tokens = _DIALECT.tokenize(text.text)
    limit = len(text.text) if span is None else span[1]
    for token in [t for t in tokens if t.start < limit][-2:]:
        if token.token_type is TokenType.VAR and len(token.text) > 2:
            keyword = nearest(token.text, KEYWORDS, cutoff=0.74)
            if keyword is not None:
                return token, keyword
    return None


def _expected(description: str) -> str:
    """Our words for sqlglot's description of a syntax error."""
    expecting = _EXPECTING.match(description)
    if expecting:
        return expecting[1]
    if description.startswith("Required keyword"):
        return "an expression before it and after it"
    return "an operator, a comma, a keyword or the end of the query"


def _span(token: Token) -> tuple[int, int]:
    return token.start, token.end + 1


def _quote(token: Token) -> str:
    return token.text if token.text.strip() else token.token_type.name.lower()
