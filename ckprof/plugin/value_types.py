"""Checks of values against the annotations that protocols and hook specifications carry.

The annotation in the source is the one place where a type is said. What it says is checked as far as it costs
next to nothing: classes, and the items of containers. Arguments of callables are not looked at.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

#: says whether a value is of a type
Check = Callable[[object], bool]

#: class -> module that defines it; imported when the first value is checked
_MODULES: Final[Mapping[str, str]] = {
    "BuildRecipe": "ckprof.model.recipe",
    "BuilderList": "ckprof.model.builder_list",
    "CatalogRecord": "msgspec",
    "Contraction": "ckprof.model.contraction",
    "Conversion": "ckprof.model.conversion",
    "ConvProblem": "ckprof.model.problem",
    "DeviceIdentity": "ckprof.model.device",
    "DeviceKernel": "ckprof.model.device_kernel",
    "DispatcherForm": "ckprof.plugin.protocols",
    "Estimate": "ckprof.model.gemm_work",
    "ExplainedLine": "ckprof.model.explanation",
    "ExtractionReport": "ckprof.model.extraction",
    "ExtractorOption": "ckprof.model.extraction",
    "Field": "ckprof.strings.fields",
    "Finding": "ckprof.model.finding",
    "GemmWork": "ckprof.model.gemm_work",
    "IgnoredFields": "ckprof.model.same_kernels",
    "Instance": "ckprof.model.instance",
    "KernelSource": "ckprof.plugin.protocols",
    "LibraryInterface": "ckprof.plugin.protocols",
    "ListComparison": "ckprof.model.extraction",
    "NDArray": "numpy",
    "ParsedProblem": "ckprof.problems.tokens",
    "PositionalForm": "ckprof.plugin.protocols",
    "Problem": "ckprof.model.problem",
    "Roof": "ckprof.model.roof",
    "RuleSetEntry": "ckprof.plugin.protocols",
    "Spelling": "ckprof.strings.spelling",
    "TreePlan": "ckprof.model.conversion_tree",
    "TypeSet": "ckprof.model.type_set",
    "UnmetRequirement": "ckprof.model.requirement",
}

#: name of an annotation -> name of the class in its module, where they differ; records of plugins that are
#: older than their base class are structs all the same
_CLASS_NAMES: Final[Mapping[str, str]] = {"CatalogRecord": "Struct", "NDArray": "ndarray"}

#: containers whose items are checked
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "Sequence": (list, tuple),
    "list": (list,),
    "tuple": (tuple,),
    "frozenset": (frozenset,),
}

_PLAIN: Final[Mapping[str, type]] = {"str": str, "bytes": bytes, "bool": bool, "float": float}


@cache
def check_of(annotation: str) -> Check:
    """Return the check of an annotation, given as source text.

    Names that are not known here, such as those of protocols, are taken for any object: what they mean is
    checked elsewhere.
    """
    return _check(ast.parse(annotation, mode="eval").body)


@cache
def callable_parts(annotation: str) -> tuple[int, str] | None:
    """Return how many arguments a ``Callable[[...], R]`` takes and the text of ``R``.

    :returns: ``None`` for an annotation without a callable; ``| None`` behind one is ignored.
    """
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Callable":
            arguments, result = _arguments(node)
            return len(arguments.elts) if isinstance(arguments, ast.List) else 0, ast.unparse(result)
    return None


@cache
def is_decided_by_class(annotation: str) -> bool:
    """Say whether the class of a value decides if it fits: the annotation has no container with items."""
    return not any(isinstance(node, ast.Subscript) for node in ast.walk(ast.parse(annotation, mode="eval")))


def unfit_items(value: object, annotation: str) -> str:
    """Return the classes of the items of a list that do not fit its annotation; empty if all do."""
    assert isinstance(value, list)  # noqa: S101 - ckprof's own
    item = annotation.removeprefix("list[").removesuffix("]")
    return ", ".join(dict.fromkeys(type(one).__name__ for one in value if not check_of(item)(one)))


def shown(value: object) -> str:
    """Return what a value is, for messages; the value itself is not asked, it may be hostile."""
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _check(node: ast.expr) -> Check:
    if isinstance(node, ast.Constant) and node.value is None:
        return lambda value: value is None
    if isinstance(node, ast.BinOp):
        left, right = _check(node.left), _check(node.right)
        return lambda value: left(value) or right(value)
    if isinstance(node, ast.Subscript):
        return _container(ast.unparse(node.value), _arguments(node))
    return _named(ast.unparse(node))


def _named(name: str) -> Check:
    if name == "int":
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    if name in _PLAIN:
        kind = _PLAIN[name]
        return lambda value: isinstance(value, kind)
    if name in _MODULES:
        return _LazyClass(name)
    return lambda value: True


class _LazyClass:
    """Checks for instances of a class that is imported when the first value comes."""

    __slots__ = ("_class", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._class: type | None = None

    def __call__(self, value: object) -> bool:
        if self._class is None:
            module = importlib.import_module(_MODULES[self._name])
            self._class = getattr(module, _CLASS_NAMES.get(self._name, self._name))
        return isinstance(value, self._class)


def _container(name: str, arguments: list[ast.expr]) -> Check:
    if name == "Callable":
        return callable
    if name == "type":
        return lambda value: isinstance(value, type)
    if name == "NDArray":
        return _named(name)
    checks = [_check(argument) for argument in arguments if ast.unparse(argument) != "..."]
    if name == "tuple" and len(checks) == len(arguments):
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(checks)
            and all(check(item) for check, item in zip(checks, value, strict=True))
        )
    if name == "Mapping":
        keys, values = checks
        return lambda value: (
            isinstance(value, Mapping) and all(keys(k) and values(v) for k, v in value.items())
        )
    if name not in _KINDS:
        return _named(name)
    (items,) = checks
    kinds = _KINDS[name]

    def holds(value: object) -> bool:
        return isinstance(value, kinds) and all(items(item) for item in cast("Iterable[object]", value))

    return holds


def _arguments(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
