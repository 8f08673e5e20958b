"""What is known of functions by their names, as data (``recipes.json``): which tuples they use where no
archive says so, in which order lists are written, and what the lists that upstream ships leave out.

In names, ``{n}`` is the number of dimensions, ``{layouts}`` three layouts, ``{type}`` a data type and
``{version}`` a pipeline version; aliases and values repeat what was found for ``{type}`` and ``{version}``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof_plugins.extract.join import Use

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof_converters.library_lists import ListKey
    from ckprof_plugins.extract.tuples import InstanceTuples, Pattern

_PARTS: Final[Mapping[str, str]] = {
    "{n}": r"\d",
    "{layouts}": r"[a-z]+_[a-z]+_[a-z]+",
    "{version}": r"(?P<version>v\d+)",
}
_TYPES: Final = r"(?:f16|bf16|f32)"


class UseRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tuple, with the values of its enumerations by their kind."""

    alias: str
    values: dict[str, tuple[str, ...]]
    #: its name in earlier releases
    former: str = ""
    #: earlier releases have its instances in another tuple of the recipe
    optional: bool = False


class RecipeRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tuples of the functions with names of one shape."""

    function: str
    uses: tuple[UseRecord, ...]
    #: numbers of dimensions that it holds for; all if empty
    dimensions: tuple[int, ...] = ()
    #: data types that it holds for; all if empty
    types: tuple[str, ...] = ()


class GroupRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Functions that stand before or after the others; those between have group 1."""

    function: str
    group: int
    #: their instances follow the declarations of the tuples, not the names of the source files
    by_declaration: bool = False


class FolderRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The folder of the source files of functions, which are written folder by folder."""

    function: str
    folder: str


class OrderRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The order of lists."""

    groups: tuple[GroupRecord, ...]
    folders: tuple[FolderRecord, ...]


class ExtraRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Uses that the shipped lists have and the library has not."""

    function: str
    values: dict[str, tuple[str, ...]]


class ShippedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In what the lists that upstream ships differ from its library."""

    left_out: tuple[str, ...]
    extra: tuple[ExtraRecord, ...]


class RecipesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is known of functions."""

    recipes: tuple[RecipeRecord, ...]
    order: OrderRecord
    shipped: ShippedRecord


@cache
def known_recipes() -> RecipesFile:
    """Return what is known of functions."""
    return msgspec.json.decode((files(__package__) / "recipes.json").read_bytes(), type=RecipesFile)


@cache
def _expression(function: str) -> re.Pattern[str]:
    text = re.escape(function)
    for part, meaning in _PARTS.items():
        text = text.replace(re.escape(part), meaning)
    text = text.replace(re.escape("{type}"), f"(?P<type>{_TYPES})", 1)
    return re.compile("add_device_grouped_" + text.replace(re.escape("{type}"), "(?P=type)"))


def _matches(function: str, dimensions: int) -> Iterator[tuple[RecipeRecord, Mapping[str, str]]]:
    for record in known_recipes().recipes:
        match = _expression(record.function).fullmatch(function)
        if match is None:
            continue
        words = match.groupdict()
        if (not record.dimensions or dimensions in record.dimensions) and (
            not record.types or words["type"] in record.types
        ):
            yield record, words


def _values(pattern: Pattern, key: ListKey, enumerations: Mapping[str, str]) -> dict[str, str]:
    values = {}
    numbered = False
    for name, kind in pattern.parameters.items():
        if kind in enumerations:
            values[name] = enumerations[kind]
        elif kind == "typename":
            meaning = key.home.bindings.get(name)
            if meaning is not None:
                values[name] = _meaning(meaning, key)
        elif kind == "index_t" and name not in pattern.defaults:
            # The first number is that of the dimensions; others are widths of transposes, which are off here.
            values[name] = "1" if numbered else str(key.shape.dimensions)
            numbered = True
    return values


def _meaning(meaning: str, key: ListKey) -> str:
    if meaning in ("input", "weight", "output"):
        return str(getattr(key.shape, meaning))
    return {"none": "EmptyTuple", "dtype": key.types[0]}.get(meaning, meaning)


def uses_by_recipe(function: str, key: ListKey, tuples: InstanceTuples) -> tuple[Use, ...] | None:
    """Return the uses of a function as its recipe says, in order; ``None`` if no recipe fits its name.

    :raises InputError: the headers lack a tuple that the recipe names.
    """
    for record, words in _matches(function, key.shape.dimensions):
        uses: list[Use] = []
        for item in record.uses:
            alias = item.alias.format(**words)
            if alias not in tuples and item.former:
                alias = item.former.format(**words)
            if alias not in tuples:
                if item.optional:
                    continue
                raise InputError(f"{function}: its recipe names {alias}, which the headers do not declare")
            kinds = {
                kind: tuple(value.format(**words) for value in values) for kind, values in item.values.items()
            }
            uses.extend(_uses(tuples.pattern(alias), key, kinds))
        return tuple(uses)
    return None


def _uses(pattern: Pattern, key: ListKey, kinds: Mapping[str, Sequence[str]]) -> Iterator[Use]:
    for chosen in product(*kinds.values()):
        values = {**pattern.defaults, **_values(pattern, key, dict(zip(kinds, chosen, strict=True)))}
        yield Use.of(pattern, values)


def source_place(function: str) -> tuple[int, bool, str]:
    """Return where a function stands in a list in source order: (group, by declaration, folder and file)."""
    order = known_recipes().order
    group = next((item for item in order.groups if re.search(item.function, function)), None)
    folder = next((item.folder for item in order.folders if re.search(item.function, function)), "")
    name = function.removeprefix("add_").removesuffix("_instances")
    return (
        group.group if group else 1,
        group.by_declaration if group else False,
        f"{folder}{name}_instance.cpp",
    )


def is_left_out(function: str) -> bool:
    """Say whether the lists that upstream ships lack a function."""
    return any(re.search(item, function) for item in known_recipes().shipped.left_out)


def extra_uses(function: str, uses: Sequence[Use]) -> tuple[Use, ...]:
    """Return the uses that the lists that upstream ships have in addition."""
    extra = []
    for record in known_recipes().shipped.extra:
        if not re.search(record.function, function):
            continue
        for use, (kind, others) in product(uses, record.values.items()):
            for value in others:
                values = {
                    name: value if use.pattern.parameters.get(name) == kind else present
                    for name, present in use.values.items()
                }
                extra.append(Use.of(use.pattern, values))
    return tuple(extra)
