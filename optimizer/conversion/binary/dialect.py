"""A binary planner's SQL dialect: DuckDB's, with our windows behind streams."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType

from optimizer.sql.grammar.dialect import WindowedParser
from optimizer.sql.grammar.places import SourceText
from optimizer.sql.grammar.syntax import check_nesting, parsed, tokens_of

_NO_NAME = (TokenType.L_PAREN, TokenType.SELECT, TokenType.WITH)


class NestedParser(WindowedParser):
    """A `WindowedParser` that knows functions by meaning, and subqueries in FROM."""

    FUNCTIONS: ClassVar = DuckDBParser.FUNCTIONS
    FUNCTION_PARSERS: ClassVar = DuckDBParser.FUNCTION_PARSERS
    NO_PAREN_FUNCTION_PARSERS: ClassVar = DuckDBParser.NO_PAREN_FUNCTION_PARSERS

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
        """A stream with its window, a subquery, or joins in parentheses."""
        if self._curr and self._curr.token_type in _NO_NAME:
            return DuckDBParser._parse_table(self, schema, joins, alias_tokens, parse_bracket)
        table = super()._parse_table(alias_tokens=alias_tokens)
        if table is not None and joins:
            for join in self._parse_joins():
                table.append("joins", join)
        return table


class Nested(DuckDB):
    """DuckDB's dialect with `NestedParser`."""

    Parser = NestedParser


_DIALECT = Nested()


def read_statement(text: SourceText) -> exp.Query:
    """The syntax tree of a text's one query: SELECT, WITH ... SELECT, or a UNION.

    Raises `InputError` for everything else, at the word that is wrong.
    """
    tokens = tokens_of(text)
    if not any(token.token_type is not TokenType.SEMICOLON for token in tokens):
        raise text.error((0, 1), "empty", "no query", "SELECT ... FROM ...")
    check_nesting(text, tokens)
    parsed_trees = parsed(text, tokens, WindowedParser.parse, _DIALECT)
    trees = [tree for tree in parsed_trees if tree is not None]
    if len(trees) > 1:
        raise text.error(None, "several-statements", f"{len(trees)} statements", "one query")
    tree = trees[0]
    if not isinstance(tree, exp.Query):
        raise text.error((0, tokens[0].end + 1), "syntax", tokens[0].text, "SELECT or WITH")
    return tree
