"""TSC's second step: put multi-way joins in groups' places (UMJoin algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sqlglot import exp

from optimizer.conversion.binary.names import UniqueNames, column_of
from optimizer.conversion.binary.tree import (
    Column,
    Derived,
    Filter,
    Join,
    Node,
    Project,
    Scan,
    aliases,
    columns_of,
    expressions,
    walk,
    with_expressions,
    with_inputs,
)
from optimizer.conversion.multiway.groups import Group, opened
from optimizer.conversion.multiway.join import multi_join
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream


class Replacement:
    """Replaces the groups of one plan.

    Args:
        catalog: the streams that scans read.
        groups: as `create_groups` found them.
        stream_of: an eligible subquery, before anything in it is replaced, as a stream.
        names: that nothing in the plan has.
    """

    def __init__(
        self,
        catalog: Catalog,
        groups: Iterable[Group],
        stream_of: Callable[[Derived], Stream],
        names: UniqueNames,
    ) -> None:
        self._catalog = catalog
        self._stream_of = stream_of
        self._names = names
        self._groups = {group.root: group for group in groups}
        self._members = {member for group in groups for member in group.members}
        self.became: dict[Join, str] = {}
        """The multi-way joins that stand in the places of binary ones."""
        self._columns: dict[Column, exp.Expr] = {}
        """What columns of subqueries that were opened, and of inputs, are above their group."""

    def apply(self, plan: Node) -> Node:
        """The plan with multi-way joins, everything else as it was."""
        for node in walk(plan):
            if isinstance(node, Join) and node in self._members:
                self._open(node)
        needed = self._needed(plan)
        return self._replaced(plan, needed)

    def _open(self, member: Join) -> None:
        """From now on, read columns of plain subqueries below a member as expressions."""
        for child in (member.left, member.right):
            node = child
            while isinstance(node, Filter | Derived):
                if isinstance(node, Derived):
                    inside = opened(node)
                    if inside is None:
                        break
                    self._columns |= {(node.alias, name): e for name, e in inside.outputs}
                    node = inside.input
                else:
                    node = node.input

    def _needed(self, plan: Node) -> frozenset[Column]:
        """The columns that anything outside of the groups' own joins reads."""
        own = {id(node) for root in self._groups for node in _inside(root, self._members)}
        found: set[Column] = set()
        for node in walk(plan):
            if id(node) not in own:
                for expression in expressions(node):
                    found |= columns_of(self._renamed(expression))
        return frozenset(found)

    def _replaced(self, node: Node, needed: frozenset[Column]) -> Node:
        if isinstance(node, Join) and node in self._groups:
            return self._multi_join(node, needed)
        below = with_inputs(node, lambda child: self._replaced(child, needed))
        return with_expressions(below, self._renamed)

    def _multi_join(self, root: Join, needed: frozenset[Column]) -> Node:
        leaves, gathered = self._gather(root)
        conditions = [self._renamed(condition) for condition in gathered]
        wanted = needed.union(*map(columns_of, conditions))
        inputs: list[Scan | Derived] = []
        streams: dict[str, Stream] = {}
        for leaf in leaves:
            source = leaf if isinstance(leaf, Scan | Derived) else self._wrapped(leaf, wanted)
            streams[source.alias] = (
                self._catalog[source.stream] if isinstance(source, Scan) else self._stream_of(source)
            )
            replaced = self._replaced(source, needed)
            assert isinstance(replaced, Scan | Derived)
            inputs.append(replaced)
            if source is not leaf and isinstance(source, Derived):
                self._columns |= _read_through(source)
        name = self._names.make("multi_join")
        self.became |= dict.fromkeys(self._groups[root].members, name)
        conditions = [self._renamed(condition) for condition in conditions]
        asked = frozenset().union(*(columns_of(self._renamed(column_of(*column))) for column in needed))
        join, left_over = multi_join(name, inputs, streams, conditions, asked)
        for output in join.outputs:
            self._columns[output.alias, output.column] = column_of(name, output.name)
        above = tuple(self._renamed(condition) for condition in left_over)
        return Filter(join, above) if above else join

    def _gather(self, node: Node) -> tuple[tuple[Node, ...], tuple[exp.Expr, ...]]:
        """The inputs of a group from left to right, and all conditions among and on them."""
        if isinstance(node, Join) and node in self._members:
            left, on_left = self._gather(node.left)
            right, on_right = self._gather(node.right)
            return (*left, *right), (*on_left, *on_right, *node.conditions)
        if isinstance(node, Filter):
            below, conditions = self._gather(node.input)
            return below, (*conditions, *node.conditions)
        if isinstance(node, Derived) and (inside := opened(node)) is not None:
            return self._gather(inside.input)
        return (node,), ()

    def _wrapped(self, leaf: Node, wanted: frozenset[Column]) -> Derived:
        """Another kind of join as an input: a subquery that selects what is read of it."""
        own = aliases(leaf)
        columns = sorted((own.index(alias), alias, name) for alias, name in wanted if alias in own)
        names = UniqueNames()
        outputs = tuple((names.make(name), column_of(alias, name)) for _, alias, name in columns)
        return Derived(self._names.make("relation"), Project(leaf, outputs))

    def _renamed(self, expression: exp.Expr) -> exp.Expr:
        """The expression over what its columns are by now."""
        current = expression
        while columns_of(current) & self._columns.keys():
            current = current.copy().transform(self._step)
        return current

    def _step(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        found = self._columns.get((node.table, node.name))
        if found is None:
            return node
        return found.copy() if isinstance(found, exp.Column) else exp.Paren(this=found.copy())


def _inside(node: Node, members: set[Join]) -> Iterator[Node]:
    """What a multi-way join replaces: joins, filters on inputs, and plain subqueries."""
    if isinstance(node, Join) and node in members:
        yield node
        yield from _inside(node.left, members)
        yield from _inside(node.right, members)
    elif isinstance(node, Filter):
        yield node
        yield from _inside(node.input, members)
    elif isinstance(node, Derived) and (inside := opened(node)) is not None:
        yield inside
        yield from _inside(inside.input, members)


def _read_through(wrapped: Derived) -> dict[Column, exp.Expr]:
    """What the columns of a wrapped join are called above it."""
    assert isinstance(wrapped.input, Project)
    return {
        (column.table, column.name): column_of(wrapped.alias, name)
        for name, column in wrapped.input.outputs
        if isinstance(column, exp.Column)
    }
