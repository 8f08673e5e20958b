"""CK Builder of a source tree, asked for lists: what its reflection prints for the library's factories."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ckprof.model.parity import PrintedLists
from ckprof_converters.library_lists import chosen_lists, known_lists
from ckprof_converters.reflection.factories import annotation, is_of
from ckprof_converters.reflection.program import Reflector
from ckprof_converters.reflection.tree import ARCHS, SET, find_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.model.parity import PrintRequest
    from ckprof_converters.library_lists import ListKey
    from ckprof_converters.reflection.program import PrintedTuple
    from ckprof_converters.reflection.tree import Tree


class Printed(NamedTuple):
    """What a tree's Builder prints for some lists."""

    tree: Tree
    lists: Mapping[ListKey, tuple[PrintedTuple, ...]]

    @property
    def silent(self) -> Counter[str]:
        """Class that the tree's Builder has no string for -> instances."""
        return Counter(name for tuples in self.lists.values() for item in tuples for name in item.silent)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which classes the tree's Builder does not describe, and how many instances it leaves out."""
        return tuple(
            f"this tree's CK Builder has no string for {name}: {count} instances are left out"
            for name, count in sorted(self.silent.items())
        )


def print_keys(
    source: Path | None, keys: Sequence[ListKey], instructions: str = "xdl", archs: Sequence[str] = ARCHS
) -> Printed:
    """Compile the reflection of a tree, and return what it prints for lists.

    :param source: the tree; ``None`` for ``$CK_ROOT``.
    :param instructions: the kind of matrix instructions of the instances.
    :param archs: what factories that depend on the device are told it is, one after the other.
    :raises InputError: there is no such folder.
    :raises ToolchainError: no tree with CK Builder, no compiler, or something does not compile.
    """
    tree = find_tree(source)
    macros = known_lists().engines[instructions].macros
    return Printed(tree, Reflector(tree, archs, macros).reflect(keys))


def lines_of(key: ListKey, printed: Sequence[PrintedTuple]) -> list[tuple[str, str]]:
    """Return line and function of each instance of a list that has a string."""
    remark = annotation(key)
    return [(text + remark, item.function) for item in printed for text in item.strings]


def place_of(key: ListKey) -> str:
    """Return the path of a list below the folder of all lists."""
    return f"{key.folder}/{SET}/{key.file_name}"


def print_lists(request: PrintRequest) -> PrintedLists:
    """Print the lists that the lines of others could stand in.

    :raises InputError: there is no such folder.
    :raises ToolchainError: no tree with CK Builder, no compiler, or something does not compile.
    """
    every = chosen_lists((request.direction,), request.layouts, (), "all")
    keys = [key for key in every if any(is_of(line, key) for line in request.lines)]
    # short spellings say neither types nor operations
    keys = keys or chosen_lists((request.direction,), request.layouts, request.dtypes)
    printed = print_keys(request.tree, keys)
    return PrintedLists(
        texts={
            place_of(key): "".join(f"{line}\n" for line, _ in lines_of(key, tuples))
            for key, tuples in printed.lists.items()
        },
        without_string=frozenset(printed.silent),
        notes=printed.notes,
    )
