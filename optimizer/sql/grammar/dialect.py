"""DuckDB's SQL with windows after the streams in FROM.

Two forms say the same: `clicks('sliding', '10', 'minutes') AS c` (CLASH) and
`clicks [RANGE 10 MINUTES] AS c` (CQL). Both become a `Table` whose `meta["window"]` is a
`WindowText`. Functions are left as names with arguments, so that one table, ours, says
which exist; and every node keeps the offsets of its tokens.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WindowText:
    """A window as written, still text: units and numbers are checked later."""

    number: str | None
    """None is [RANGE UNBOUNDED]."""
    unit: str
    number_span: Span
    unit_span: Span


_AS_OF_JOINS = frozenset({"", "INNER", "LEFT", "OUTER LEFT"})
"""Joins that FOR SYSTEM_TIME AS OF makes as-of joins."""


class SyntaxFault(Exception):
    """What the parser cannot read: where, and what it would have read."""

    def __init__(self, span: Span | None, expected: str, code: str = "syntax") -> None:
        self.span = span
        """None is the end of the text."""
        self.expected = expected
        self.code = code
        super().__init__(expected)


class PositionedError(ParseError):
    """sqlglot's own parse error, with the offsets of the token that it is about."""

    def __init__(self, message: str, span: Span | None) -> None:
        super().__init__(message)
        self.description = message
        self.span = span


class WindowedParser(DuckDBParser):
    FUNCTIONS: ClassVar = {}
    FUNC_TOKENS: ClassVar = DuckDBParser.FUNC_TOKENS | {TokenType.SESSION}
    FUNCTION_PARSERS: ClassVar = {
        name: DuckDBParser.FUNCTION_PARSERS[name]
        for name in ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM")
    }
    PRIMARY_PARSERS: ClassVar = {
        **DuckDBParser.PRIMARY_PARSERS,
        TokenType.NULL: lambda self, token: self.expression(exp.Null()).update_positions(token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True)).update_positions(token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False)).update_positions(token),
    }
    # REGEXP and RLIKE are other dialects'; ~ is parsed apart.
    RANGE_PARSERS: ClassVar = {
        token: parse
        for token, parse in DuckDBParser.RANGE_PARSERS.items()
        if token not in (TokenType.RLIKE, TokenType.IRLIKE)
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": DuckDBParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}

    def condition(self, tokens: list[Token], text: str) -> exp.Expr | None:
        """The tree of a condition, as it stands behind WHERE."""
        return self._parse(WindowedParser._parse_disjunction, tokens, text)[0]

    def raise_error(self, message: str, token: Token | None = None) -> None:
        token = token or self._curr
        raise PositionedError(message, (token.start, token.end + 1) if token else None)

    def _fault(self, expected: str, code: str = "syntax") -> SyntaxFault:
        token = self._curr
        return SyntaxFault((token.start, token.end + 1) if token else None, expected, code)

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
        parse_bracket: bool = False,
        is_db_reference: bool = False,
        parse_partition: bool = False,
        consume_pipe: bool = False,
    ) -> exp.Expr | None:
        """A stream or a view, its window and its alias: nothing else stands in FROM."""
        if self._curr and self._curr.token_type is TokenType.L_PAREN:
            return self._joined_in_brackets()
        name = self._stream_name()
        window = self._sliding_window() or self._range_window()
        table = self.expression(exp.Table(this=name))
        moment = self._moment()
        explicit = self._match(TokenType.ALIAS)
        clause = not explicit and self._can_parse_limit_or_offset()
        alias = (
            None
            if clause
            else self._parse_id_var(any_token=False, tokens=alias_tokens or self.TABLE_ALIAS_TOKENS)
        )
        if alias is not None:
            table.set("alias", self.expression(exp.TableAlias(this=alias)))
        elif explicit:
            raise self._fault("an alias")
        table.meta["as_of"] = moment or self._moment()
        window = window or self._range_window()
        if window is not None:
            table.meta["window"] = window
        return table

    def _parse_expression(self) -> exp.Expr | None:
        """An entry of SELECT or an argument; keeps its whole text, brackets included."""
        start = self._curr
        node = super()._parse_expression()
        if node is not None and start and self._prev:
            node.meta["text"] = (start.start, self._prev.end + 1)
        return node

    def _joined_in_brackets(self) -> exp.Expr:
        """(a JOIN b ON ...): the first stream with the joins behind it."""
        if self._next and self._next.token_type in (TokenType.WITH, TokenType.VALUES):
            raise self._fault("the name of a stream or a view, or a subquery", "subquery")
        self._advance()
        if self._curr and self._curr.token_type is TokenType.SELECT:
            return self._subquery()
        table = self._parse_table()
        assert table is not None
        while (join := self._parse_join()) is not None:
            table.append("joins", join)
        self._expect(TokenType.R_PAREN, ")")
        return table

    def _subquery(self) -> exp.Expr:
        """SELECT ...) AS alias, behind an opening bracket."""
        select = self._parse_select()
        self._expect(TokenType.R_PAREN, ")")
        window = self._range_window()
        self._match(TokenType.ALIAS)
        alias = self._parse_id_var(any_token=False, tokens=self.TABLE_ALIAS_TOKENS)
        if alias is None:
            raise self._fault("an alias for the subquery")
        table = self.expression(exp.Subquery(this=select, alias=exp.TableAlias(this=alias)))
        window = window or self._range_window()
        if window is not None:
            table.meta["window"] = window
        return table

    def _moment(self) -> exp.Expr | None:
        """FOR SYSTEM_TIME AS OF t.at, before or behind the alias."""
        if not self._match_text_seq("FOR", "SYSTEM_TIME", "AS", "OF"):
            return None
        moment = self._parse_column()
        if moment is None:
            raise self._fault("the event time of a stream before it")
        return moment

    def _stream_name(self) -> exp.Expr:
        name = self._parse_id_var(any_token=False, tokens=self.TABLE_ALIAS_TOKENS | self.FUNC_TOKENS)
        if name is None:
            raise self._fault("the name of a stream or a view")
        if self._curr and self._curr.token_type is TokenType.DOT:
            raise self._fault("a name without a schema: a window, an alias, a comma, JOIN or WHERE")
        return name

    def _sliding_window(self) -> WindowText | None:
        """('sliding', '10', 'minutes'), behind a stream's name."""
        if not self._match(TokenType.L_PAREN):
            return None
        kind = self._argument("'sliding'", (TokenType.STRING,))
        if kind.text.lower() != "sliding":
            raise SyntaxFault((kind.start, kind.end + 1), "'sliding', the only kind of window", "bad-window")
        self._expect(TokenType.COMMA, "a comma")
        number, span = self._length("the window's length, such as '10'")
        self._expect(TokenType.COMMA, "a comma")
        unit = self._argument("the window's unit, such as 'minutes'", (TokenType.STRING,))
        self._expect(TokenType.R_PAREN, ")")
        return WindowText(number, unit.text, span, (unit.start, unit.end + 1))

    def _range_window(self) -> WindowText | None:
        """[RANGE 10 MINUTES], [RANGE '10' MINUTES] or [RANGE UNBOUNDED]."""
        if not self._match(TokenType.L_BRACKET):
            return None
        if not self._match_text_seq("RANGE"):
            raise self._fault("RANGE: windows are of time, such as [RANGE 10 MINUTES]", "bad-window")
        if self._match_text_seq("UNBOUNDED"):
            span = (self._prev.start, self._prev.end + 1)
            self._expect(TokenType.R_BRACKET, "]")
            return WindowText(None, "", span, span)
        number, span = self._length("the window's length, such as 10")
        unit = self._curr
        if not unit or unit.token_type in (TokenType.R_BRACKET, TokenType.NUMBER, TokenType.STRING):
            raise self._fault("the window's unit, such as MINUTES", "bad-window")
        self._advance()
        self._expect(TokenType.R_BRACKET, "]")
        return WindowText(number, unit.text, span, (unit.start, unit.end + 1))

    def _length(self, expected: str) -> tuple[str, Span]:
        """A number, perhaps in quotes, with its sign: its text and place."""
        start = self._curr
        sign = "-" if self._match(TokenType.DASH) else ""
        sign += "." if self._match(TokenType.DOT) else ""
        number = self._argument(expected, (TokenType.STRING, TokenType.NUMBER))
        return sign + number.text, (start.start, number.end + 1)

    def _argument(self, expected: str, kinds: tuple[TokenType, ...]) -> Token:
        if not self._match_set(kinds):
            raise self._fault(expected, "bad-window")
        return self._prev

    def _expect(self, kind: TokenType, expected: str) -> None:
        if not self._match(kind):
            raise self._fault(expected)

    def _parse_join(
        self,
        skip_join_token: bool = False,
        parse_bracket: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        if self._match(TokenType.COMMA):
            # sqlglot tries and forgets here, and so would lose the place of an error.
            return self.expression(exp.Join(this=self._parse_table(alias_tokens=alias_tokens)))
        start = self._curr
        join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
        if join is not None and start:
            join.meta["keyword"] = (start.start, start.end + 1)
            sides = (join.args.get("method"), join.args.get("kind"), join.args.get("side"))
            if join.this.meta.get("as_of") is not None and " ".join(filter(None, sides)) in _AS_OF_JOINS:
                join.set("method", "ASOF")
                join.meta["as_of"] = join.this.meta.pop("as_of")
        return join

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Add | exp.Interval | None:
        """INTERVAL 5 MINUTES, INTERVAL '5' MINUTE or INTERVAL '1 hour 30 minutes'."""
        index, start = self._index, self._curr
        if not self._match(TokenType.INTERVAL):
            return None
        negative = "-" if self._match(TokenType.DASH) else ""
        if not self._match_set((TokenType.STRING, TokenType.NUMBER)):
            self._retreat(index)
            return None
        text = self._prev
        unit = None
        if (self._curr and self._curr.token_type is TokenType.VAR) or self._is_unit_word():
            self._advance()
            unit = self.expression(exp.Var(this=self._prev.text))
        interval = self.expression(exp.Interval(this=exp.Literal.string(negative + text.text), unit=unit))
        interval.meta["start"], interval.meta["end"] = start.start, self._prev.end
        return interval

    def _is_unit_word(self) -> bool:
        return bool(self._curr) and self._curr.text.upper() in self.dialect.VALID_INTERVAL_UNITS


class Windowed(DuckDB):
    """DuckDB's dialect with `WindowedParser`."""

    Parser = WindowedParser

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """A path behind `->>`, which DuckDB reads."""
        return path
