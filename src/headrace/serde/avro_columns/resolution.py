"""Which type of a reader's schema reads what a writer wrote: Avro's rules of schema resolution.

Where the specification leaves room, Avro's Java library decides: records match whatever their
names, a branch of the same type goes before one that a number must be promoted to.
"""

from __future__ import annotations

from headrace.serde.avro_columns.schema import Field, Node

_PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def matches(writer: Node, reader: Node) -> bool:
    """Whether values of one type may be read as the other; what is inside may still differ."""
    if writer.kind != reader.kind:
        return reader.kind in _PROMOTIONS.get(writer.kind, ())
    if writer.kind in ("enum", "fixed"):
        return has_name_of(writer, reader) and writer.size == reader.size
    return True


def has_name_of(writer: Node, reader: Node) -> bool:
    """Without their namespaces, as the specification has it since 1.9; or under an alias."""
    return _simple(writer.name) == _simple(reader.name) or writer.name in reader.aliases


def find_branch(writer: Node, branches: list[Node]) -> int:
    """The branch of a reader's union that reads the type; -1 if there is none."""
    same = [index for index, one in enumerate(branches) if one.kind == writer.kind]
    if writer.kind == "record":
        return _find_record(writer, branches, same)
    if writer.kind in ("enum", "fixed"):
        same = [index for index in same if matches(writer, branches[index])]
    if same:
        return same[0]
    promoted = _PROMOTIONS.get(writer.kind, ())
    return next((i for i, one in enumerate(branches) if one.kind in promoted), -1)


def _find_record(writer: Node, branches: list[Node], records: list[int]) -> int:
    named = [i for i in records if writer.name in (branches[i].name, *branches[i].aliases)]
    if named:
        return named[0]
    readable = [i for i in records if can_read(writer, branches[i], {})]
    simple = [i for i in readable if _simple(writer.name) == _simple(branches[i].name)]
    # Of several records that only share their last name, Java takes the last one.
    return simple[-1] if simple else readable[0] if readable else -1


def can_read(writer: Node, reader: Node, known: dict[tuple[int, int], bool]) -> bool:
    """Whether every value of the writer's type can be read; `known` are pairs already seen."""
    pair = (id(writer), id(reader))
    if pair not in known:
        known[pair] = True  # of a type inside of itself
        known[pair] = _can_read(writer, reader, known)
    return known[pair]


def _can_read(writer: Node, reader: Node, known: dict[tuple[int, int], bool]) -> bool:
    if writer.kind == "union":
        return all(can_read(one, reader, known) for one in writer.branches)
    if reader.kind == "union":
        index = find_branch(writer, reader.branches)
        return index >= 0 and can_read(writer, reader.branches[index], known)
    if not matches(writer, reader):
        return False
    if writer.kind in ("array", "map"):
        return can_read(writer.inner, reader.inner, known)
    if writer.kind != "record":
        return True
    written = fields_by_reader(writer, reader)
    return all(
        can_read(written[one.name].type, one.type, known)
        if one.name in written
        else one.has_default
        for one in reader.fields
    )


def fields_by_reader(writer: Node, reader: Node) -> dict[str, Field]:
    """The writer's field for each field of the reader that was written."""
    by_name = {one.name: one for one in writer.fields}
    taken = {one.name for one in reader.fields} & by_name.keys()
    found = {name: by_name[name] for name in taken}
    for one in reader.fields:
        for alias in one.aliases:
            if one.name not in found and alias in by_name and alias not in taken:
                found[one.name] = by_name[alias]
                taken.add(alias)
    return found


def _simple(name: str) -> str:
    return name.rpartition(".")[2]
