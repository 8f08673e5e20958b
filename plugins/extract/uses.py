"""Which tuples, with which parameters, a function of the library adds, and in which order lists have them.

The archive says what a function adds but not in which order; the headers know the order but not the function:
:func:`cover` finds the tuples that account for both. Where there is no archive, source files say it, or what
is known of functions by their names, as data (``recipes.json``): also in which order lists are written, and
what the lists that upstream ships leave out.

In names, ``{n}`` is the number of dimensions, ``{layouts}`` three layouts, ``{type}`` a data type and
``{version}`` a pipeline version; aliases and values repeat what was found for ``{type}`` and ``{version}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof_plugins.extract.cpp_text import ExprReader, TokenStream, preprocess
from ckprof_plugins.extract.tuples import SLOT

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_converters.library_lists import ListKey
    from ckprof_plugins.extract.headers import Enumerations
    from ckprof_plugins.extract.mangling import DeviceInstance
    from ckprof_plugins.extract.tuples import InstanceTuples, Pattern


@dataclass(frozen=True, slots=True)
class Use:
    """One tuple with the parameters that a function gives it.

    :raises InputError: a parameter has no value.
    """

    pattern: Pattern
    #: parameter -> value
    values: Mapping[str, str]
    instances: tuple[DeviceInstance, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "instances", self.pattern.bind(self.values))

    def enumerators(self, enumerations: Enumerations) -> tuple[int, ...]:
        """Return the numbers of the enumerators among the values, which uses of one tuple are sorted by."""
        return tuple(
            enumerations[kind].index(self.values[name])
            for name, kind in self.pattern.parameters.items()
            if kind in enumerations
        )


def fitting(pattern: Pattern, compiled: frozenset[DeviceInstance]) -> list[Use]:
    """Return the uses of a tuple whose instances were all compiled.

    The parameters follow from the compiled instances that the first element of the tuple may be.
    """
    if not pattern.instances or len(pattern.instances) > len(compiled):
        return []
    first = pattern.instances[0]
    uses: dict[tuple[str, ...], Use] = {}
    for instance in compiled:
        values = _bindings(first, instance)
        if values is None:
            continue
        bound = {**pattern.defaults, **values}
        if any(name not in bound for name in pattern.parameters):
            continue
        identity = tuple(bound[name] for name in pattern.parameters)
        if identity in uses:
            continue
        use = Use(pattern, bound)
        if compiled.issuperset(use.instances):
            uses[identity] = use
    return list(uses.values())


def _bindings(pattern: DeviceInstance, instance: DeviceInstance) -> dict[str, str] | None:
    if pattern.device != instance.device or len(pattern.arguments) != len(instance.arguments):
        return None
    values: dict[str, str] = {}
    for open_, value in zip(pattern.arguments, instance.arguments, strict=True):
        if open_ == value:
            continue
        if not open_.startswith(SLOT):
            if SLOT in open_:
                continue  # a parameter inside another argument: compared once it is bound
            return None
        if values.setdefault(open_[len(SLOT) :], value) != value:
            return None
    return values


def cover(
    function: str, compiled: Iterable[DeviceInstance], candidates: Sequence[str], tuples: InstanceTuples
) -> tuple[Use, ...]:
    """Return the uses that make up a function's instances, in no particular order.

    The longest tuples are taken first: a tuple of one generic instance is often contained in a larger one.

    :param candidates: aliases to try.
    :raises InputError: some instances are in no tuple that fits.
    """
    everything = frozenset(compiled)
    devices = {item.device for item in everything}
    uses: list[Use] = []
    for alias in candidates:
        if tuples.devices(alias) <= devices:
            uses.extend(fitting(tuples.pattern(alias), everything))
    uses.sort(key=lambda use: (-len(use.instances), use.pattern.rank, tuple(use.values.items())))
    left = set(everything)
    taken = []
    for use in uses:
        if not left:
            break
        if not left.isdisjoint(use.instances):
            taken.append(use)
            left.difference_update(use.instances)
    if left:
        sample = min(left)
        raise InputError(
            f"{function}: {len(left)} of {len(everything)} compiled instances are in no tuple of the "
            f"headers; the first is {sample.device}<{', '.join(sample.arguments)}>"
        )
    return tuple(taken)


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


class RecipesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is known of functions; keys and plain texts are expressions that are found in their names."""

    recipes: tuple[RecipeRecord, ...]
    #: functions that stand before or after the others, which have group 1; and whether their instances follow
    #: the declarations of the tuples, not the names of the source files
    groups: tuple[tuple[str, int, bool], ...]
    #: the folders of their source files, by which they are written
    folders: dict[str, str]
    #: functions that the lists which upstream ships lack
    left_out: tuple[str, ...]
    #: uses, as values of enumerations, that these lists have and the library has not
    extra: dict[str, dict[str, tuple[str, ...]]]


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
            values[name] = "1" if numbered else str(key.shape.ndim)
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
    for record in known_recipes().recipes:
        match = _expression(record.function).fullmatch(function)
        words = match.groupdict() if match is not None else {}
        fits = not record.dimensions or key.shape.ndim in record.dimensions
        if match is None or not fits or (record.types and words["type"] not in record.types):
            continue
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
            pattern = tuples.pattern(alias)
            for chosen in product(*kinds.values()):
                values = _values(pattern, key, dict(zip(kinds, chosen, strict=True)))
                uses.append(Use(pattern, {**pattern.defaults, **values}))
        return tuple(uses)
    return None


def source_place(function: str) -> tuple[int, bool, str]:
    """Return where a function stands in a list in source order: (group, by declaration, folder and file)."""
    known = known_recipes()
    found = ((group, flag) for item, group, flag in known.groups if re.search(item, function))
    group, by_declaration = next(found, (1, False))
    folder = next((place for item, place in known.folders.items() if re.search(item, function)), "")
    name = function.removeprefix("add_").removesuffix("_instances")
    return group, by_declaration, f"{folder}{name}_instance.cpp"


def is_left_out(function: str) -> bool:
    """Say whether the lists that upstream ships lack a function."""
    return any(re.search(item, function) for item in known_recipes().left_out)


def extra_uses(function: str, uses: Sequence[Use]) -> tuple[Use, ...]:
    """Return the uses that the lists that upstream ships have in addition."""
    extra = []
    for expression, kinds in known_recipes().extra.items():
        if not re.search(expression, function):
            continue
        for use, (kind, others) in product(uses, kinds.items()):
            for value in others:
                values = {
                    name: value if use.pattern.parameters.get(name) == kind else present
                    for name, present in use.values.items()
                }
                extra.append(Use(use.pattern, values))
    return tuple(extra)


#: where they are, from the folder above an include root on
_FOLDER: Final = "src/tensor_operation_instance/gpu"
#: generated files keep their name but for the ending
_ENDINGS: Final = (".cpp", ".in")
_FUNCTION: Final = re.compile(r"\b(add_device_grouped_conv\w*?_instances)(?:_shard)?\b")


def source_files(roots: Sequence[Path]) -> Mapping[str, Path]:
    """Return function -> source file of a tree that defines it.

    :param roots: include roots; the files are beside one of them.
    """
    found: dict[str, Path] = {}
    for root in roots:
        for path in sorted((root.parent / _FOLDER).glob("grouped_conv*/**/*")):
            if path.suffix in _ENDINGS:
                for name in _FUNCTION.findall(path.read_text(errors="replace")):
                    found.setdefault(name, path)
    return found


def uses_of_source(
    function: str, path: Path, tuples: InstanceTuples, macros: Mapping[str, str]
) -> tuple[Use, ...]:
    """Return the tuples that a function adds, in order, as its source file says.

    :raises InputError: what the file says cannot be read.
    """
    text, _ = preprocess(path.read_text(errors="replace"), macros, str(path))
    stream = TokenStream(text, str(path))
    uses = []
    for index, piece in enumerate(stream.texts):
        if piece in tuples and stream.texts[index + 1 : index + 2] == ["<"]:
            pattern = tuples.pattern(piece)
            arguments = ExprReader(stream, index + 1).arguments()
            if len(arguments) > len(pattern.parameters):
                raise InputError(f"{function}: {piece} takes fewer parameters", path)
            values = [tuples.print_in(piece, argument) for argument in arguments]
            uses.append(Use(pattern, dict(zip(pattern.parameters, values, strict=False))))
    if not uses:
        raise InputError(f"{function}: its source adds no tuple that the headers declare", path)
    return tuple(uses)
