"""Which lists there are: directions, layouts, data types, and where each is kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from ckprof.errors import UsageError
from ckprof.sanitize import unknown_name
from ckprof_plugins.directions._convolution.layout import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof_plugins.directions._convolution.layout import ConvLayout


class EngineRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of matrix instructions."""

    #: what the factories ask for
    macros: tuple[str, ...]
    #: the configuration of a library says whether it has them; where not, the factories never ask for them
    configured: bool
    #: expression that is found in the names of its functions, for releases whose factories do not ask
    function: str


class FusedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the library keeps the instances of a direction that do more than a convolution."""

    factory: str
    #: layouts of their D tensors: tensors whose layout they have, or names
    d_layouts: tuple[str, ...] = ()
    #: how many tensors each operand is made from
    operand_tensors: int = 1
    #: names of further types
    dtypes: tuple[str, ...] = ()


class DirectionRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the library keeps the instances of a direction, and how its factories are asked for them."""

    #: folder of its lists
    folder: str
    factory: str
    #: folder of its instance headers
    headers: str
    #: how the names of its device classes begin
    operator: str
    #: the lists that are written unless told otherwise
    sets: tuple[str, ...]
    #: parameter of its tuples -> the tensor whose layout it is, ``none``, or a value
    bindings: dict[str, str]
    #: the base class of its device operations, with places for dimensions, layouts, types and operations
    operation: str
    #: where instances print the types of input, weight and output: among all types before the operations
    types_at: tuple[int, int, int]
    #: what they do besides -> the operations on input, weight and output, as instances print them
    elementwise: dict[str, tuple[str, str, str]]
    #: headers of device classes that agree with one another: compiled once for all sources of the direction
    precompiled: tuple[str, ...]
    #: the base class of those that do more than a convolution; empty: the same
    fused_operation: str = ""
    #: what they do besides -> type of the output -> type of the D tensors, where it is another
    d_types: dict[str, dict[str, str]] = {}
    #: what they do besides -> type of the output -> the library's name of the operation on it, where that is
    #: made of others
    combined: dict[str, dict[str, str]] = {}
    #: names of further types of those that do nothing besides
    dtypes: tuple[str, ...] = ()
    #: what instances do besides, as the library calls it -> where they are
    fused: dict[str, FusedRecord] = {}


class ListsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is known of the lists."""

    #: names
    layouts: tuple[str, ...]
    #: name -> types of input, weight and output, as instance strings spell them
    types: dict[str, tuple[str, str, str]]
    #: type, as instance strings spell it -> in C++
    cpp_types: dict[str, str]
    #: names of the types that all directions have
    dtypes: tuple[str, ...]
    #: file names of archives, the more specific ones first
    archives: tuple[str, ...]
    #: expression that is found in the names of functions that a factory may call though they are not compiled
    optional: str
    engines: dict[str, EngineRecord]
    directions: dict[str, DirectionRecord]


@cache
def known_lists() -> ListsFile:
    """Return what is known of the lists."""
    return msgspec.json.decode((files(__package__) / "library_lists.json").read_bytes(), type=ListsFile)


@dataclass(frozen=True, slots=True, order=True)
class ListKey:
    """One list: instances of one direction for one layout and one data type."""

    direction: str
    layout: str
    dtype: str
    #: what they do beside the convolution, as the library calls it; empty: nothing
    fused: str = ""

    @property
    def shape(self) -> ConvLayout:
        """Names of its tensor layouts."""
        return next(layout for layout in LAYOUTS if layout.name == self.layout)

    @property
    def home(self) -> DirectionRecord:
        """Where the library keeps its instances."""
        return known_lists().directions[self.direction]

    @property
    def factory(self) -> str:
        """Header of the factory that returns its instances."""
        return self.home.fused[self.fused].factory if self.fused else self.home.factory

    @property
    def d_layouts(self) -> tuple[str, ...]:
        """Layouts of the D tensors of its instances."""
        names = self.home.fused[self.fused].d_layouts if self.fused else ()
        return tuple(str(getattr(self.shape, name, name)) for name in names)

    @property
    def types(self) -> tuple[str, str, str]:
        """Types of input, weight and output, as instance strings print them."""
        return known_lists().types[self.dtype]

    @property
    def operand_tensors(self) -> int:
        """How many tensors each operand is made from."""
        return self.home.fused[self.fused].operand_tensors if self.fused else 1

    def operand_type(self, number: int) -> str:
        """Return the type of an operand, as instance strings print it."""
        count = self.operand_tensors
        return self.types[number] if count == 1 else f"Tuple({','.join((self.types[number],) * count)})"

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets that are written unless told otherwise: those that say all of its instances."""
        says_all = not self.fused and self.dtype in known_lists().dtypes
        return tuple(name for name in self.home.sets if says_all or name != "typestring")

    @property
    def folder(self) -> str:
        """Folder of its sets."""
        return f"{self.home.folder}/{self.fused}" if self.fused else self.home.folder

    @property
    def file_name(self) -> str:
        """Name of its file."""
        return f"{self.layout}_{self.dtype}.conf"

    def __str__(self) -> str:
        return " ".join(filter(None, (self.direction, self.fused, f"{self.layout}_{self.dtype}")))


def all_lists() -> Iterator[ListKey]:
    """Yield every list, in the order of summaries."""
    lists = known_lists()
    for direction, home in lists.directions.items():
        for fused in ("", *home.fused):
            for layout in lists.layouts:
                further = home.fused[fused].dtypes if fused else home.dtypes
                for dtype in (*lists.dtypes, *further):
                    yield ListKey(direction, layout, dtype, fused)


def chosen_lists(
    directions: Sequence[str], layouts: Sequence[str], dtypes: Sequence[str], fused: str = "none"
) -> list[ListKey]:
    """Return the lists that are asked for; nothing named is everything.

    :param fused: what instances do beside the convolution, as the library calls it; ``none``, or ``all``.
    :raises UsageError: an unknown direction, layout or type.
    """
    lists = known_lists()
    directions = known("direction", directions, tuple(lists.directions))
    layouts = known("layout", layouts, lists.layouts)
    dtypes = known("data type", dtypes, tuple(lists.types))
    return [
        key
        for key in all_lists()
        if key.direction in directions
        and key.layout in layouts
        and key.dtype in dtypes
        and (fused == "all" or key.fused == (fused if fused != "none" else ""))
    ]


def known(kind: str, names: Sequence[str], choices: Sequence[str]) -> Sequence[str]:
    """Return the names, or all choices if there are none.

    :raises UsageError: a name is not among the choices.
    """
    for name in names:
        if name not in choices:
            raise UsageError(unknown_name(kind, name, choices))
    return names or choices
