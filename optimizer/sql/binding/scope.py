"""What names mean inside one query: its aliases and their columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Expression
from optimizer.algebra.identifiers import matches, nearest
from optimizer.sql.grammar.places import SourceText, span_of


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of FROM: a stream, or a view whose columns stand for expressions."""

    alias: str
    of: str
    """The stream's or view's name."""
    columns: tuple[tuple[str, Expression], ...]
    inputs: frozenset[str]
    """The aliases of the flattened query that it brings in: itself, or the view's inputs."""
    node: exp.Expr

    def find(self, name: str, quoted: bool) -> Expression | None:
        found = [value for column, value in self.columns if matches(column, name, quoted)]
        exact = [value for column, value in self.columns if column == name]
        return next(iter(exact or found), None)


@dataclass(slots=True)
class Scope:
    text: SourceText
    sources: list[Source] = field(default_factory=list)
    merged: dict[str, Source] = field(default_factory=dict)
    """Columns joined by USING, by folded name: they are one column, the first source's."""
    broken: bool = False
    """True if an entry of FROM could not be read: unknown names then prove nothing."""
    outer: Scope | None = None
    """Of the query that this one is a subquery of."""

    @property
    def visible(self) -> list[Source]:
        """The sources here and in the queries around this one."""
        return self.sources if self.outer is None else [*self.sources, *self.outer.visible]

    def source(self, identifier: exp.Identifier) -> Source:
        """The source of an alias. Raises `InputError` for an unknown one."""
        for source in self.sources:
            if matches(source.alias, identifier.name, bool(identifier.args.get("quoted"))):
                return source
        aliases = [source.alias for source in self.sources]
        raise self.text.error(
            span_of(identifier),
            "unknown-alias",
            f"alias {identifier.name}",
            f"one of {', '.join(aliases)}" if aliases else "an alias in FROM",
            nearest(identifier.name, aliases),
        )

    def resolve(self, column: exp.Column) -> Expression:
        """The expression that a column name stands for, here or in the query around.

        Raises `InputError` for an unknown or ambiguous one, with the nearest valid name.
        """
        try:
            return self._own(column)
        except InputError as error:
            if self.outer is None or error.code not in ("unknown-alias", "unknown-column"):
                raise
            try:
                return self.outer.resolve(column)
            except InputError as around:
                raise (around if around.code == "ambiguous-column" else error) from None

    def _own(self, column: exp.Column) -> Expression:
        identifier = column.this
        if not isinstance(identifier, exp.Identifier) or column.args.get("db"):
            raise self.text.error(span_of(column), "syntax", column.sql("duckdb"), "alias.column or column")
        name, quoted = identifier.name, bool(identifier.args.get("quoted"))
        alias = column.args.get("table")
        if isinstance(alias, exp.Identifier):
            source = self.source(alias)
            found = source.find(name, quoted)
            if found is None:
                raise self._unknown(column, f"{source.alias}.{name}", [source], f"a column of {source.of}")
            return found
        if name.casefold() in self.merged:
            found = self.merged[name.casefold()].find(name, quoted)
            if found is not None:
                return found
        holders = [(source, source.find(name, quoted)) for source in self.sources]
        hits = [(source, value) for source, value in holders if value is not None]
        if not hits:
            streams = dict.fromkeys(source.of for source in self.sources)
            raise self._unknown(column, name, self.sources, f"a column of {' or '.join(streams)}")
        if len(hits) > 1:
            choices = [f"{source.alias}.{name}" for source, _ in hits]
            raise self.text.error(
                span_of(column), "ambiguous-column", f"column {name}", f"{' or '.join(choices)}"
            )
        return hits[0][1]

    def _unknown(self, column: exp.Column, name: str, sources: list[Source], expected: str) -> InputError:
        """An error for an unknown column, with a suggestion.

        Suggested is the alias' own nearest column, else the same name of another alias.
        """
        wanted = column.this.name
        best = nearest(wanted, [c for source in sources for c, _ in source.columns])
        suggestion = None
        if best is not None:
            owner = next(s for s in sources if any(c == best for c, _ in s.columns))
            suggestion = f"{owner.alias}.{best}"
        else:
            elsewhere = [s for s in self.sources if s.find(wanted, False) is not None]
            if elsewhere:
                suggestion = f"{elsewhere[0].alias}.{wanted}"
        return self.text.error(span_of(column), "unknown-column", f"column {name}", expected, suggestion)
