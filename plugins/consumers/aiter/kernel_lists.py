"""AITER's lists of kernels, read from its Python sources without running them.

A file has a dataclass with a property ``name`` and a dictionary number -> instance of it. The property is an
expression of joins, maps, texts and fields, which is evaluated here and nowhere else.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

#: places of the lists below the root of a tree or of an installed package
_PLACES: Final = ("csrc", "aiter_meta/csrc", "../aiter_meta/csrc")
_LIST: Final = "kernels_list"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelsOfFile:
    """One list."""

    path: Path
    #: first word of all names, e.g. ``a8w8_rowwise``
    prefix: str
    #: number -> name
    names: Mapping[int, str]

    def number_of(self, name: str) -> int | None:
        """Return the number of a name; ``None`` if it is not in the list."""
        return next((number for number, other in self.names.items() if other == name), None)


def read_tree(root: Path) -> tuple[KernelsOfFile, ...]:
    """Return the lists of a tree.

    :raises InputError: the tree has none, or one cannot be read.
    """
    for place in _PLACES:
        paths = sorted((root / place).glob("*/*_common.py"))
        lists = [found for path in paths for found in _lists_of(path)]
        if lists:
            return tuple(lists)
    raise InputError(f"has no lists of kernels below {' or '.join(_PLACES[:2])}", root)


def _lists_of(path: Path) -> Iterator[KernelsOfFile]:
    try:
        module = ast.parse(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    except (SyntaxError, ValueError) as exc:
        raise InputError(f"is no Python source: {exc}", path) from None
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    for node in module.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        if [target.id for target in node.targets if isinstance(target, ast.Name)] != [_LIST]:
            continue
        names = {}
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, int):
                continue
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                names[key.value] = _name_of(value, classes.get(value.func.id), path)
        if names:
            prefix = _common_prefix(list(names.values()))
            yield KernelsOfFile(path=path, prefix=prefix, names=names)


def _common_prefix(names: list[str]) -> str:
    """Return the words that all names begin with, up to the first number."""
    words = []
    for group in zip(*(name.split("_") for name in names), strict=False):
        if len(set(group)) > 1 or group[0][:1].isdigit():
            break
        words.append(group[0])
    return "_".join(words)


def _name_of(call: ast.Call, kind: ast.ClassDef | None, path: Path) -> str:
    if kind is None:
        raise InputError("a kernel is of a class that this file does not define", path, call.lineno)
    fields = [
        node.target.id
        for node in kind.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    try:
        values = [ast.literal_eval(argument) for argument in call.args]
        named = {item.arg: ast.literal_eval(item.value) for item in call.keywords if item.arg}
    except ValueError:
        raise InputError("an argument of a kernel is no constant", path, call.lineno) from None
    known = {**dict(zip(fields, values, strict=False)), **named}
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and node.name == "name":
            for statement in node.body:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    return str(_evaluated(statement.value, {"self": known}, path))
    raise InputError("the class of the kernels has no property 'name'", path, kind.lineno)


def _evaluated(node: ast.expr, scope: Mapping[str, Any], path: Path) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_evaluated(item, scope, path) for item in items]
        case ast.Name(id=name) if name in scope:
            return scope[name]
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in scope["self"]:
            return scope["self"][name]
        case ast.JoinedStr(values=parts):
            return "".join(str(_evaluated(part, scope, path)) for part in parts)
        case ast.FormattedValue(value=inner, format_spec=None):
            return _evaluated(inner, scope, path)
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body):
            return lambda value: _evaluated(body, {**scope, name: value}, path)
        case ast.Call(func=ast.Attribute(value=owner, attr="join"), args=[items]):
            return str(_evaluated(owner, scope, path)).join(map(str, _evaluated(items, scope, path)))
        case ast.Call(func=ast.Attribute(value=owner, attr="lower"), args=[]):
            return str(_evaluated(owner, scope, path)).lower()
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return str(_evaluated(inner, scope, path))
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="str"), items]):
            return [str(item) for item in _evaluated(items, scope, path)]
        case ast.Call(func=ast.Name(id="map"), args=[function, items]):
            call: Callable[[Any], Any] = _evaluated(function, scope, path)
            return [call(item) for item in _evaluated(items, scope, path)]
        case _:
            raise InputError(f"cannot evaluate {ast.unparse(node)[:60]!r}", path, node.lineno)
