"""AITER's lists of kernels, read without running them.

A file has a dataclass with a property ``name``, and dictionaries number -> instance of it. Some choose among
dictionaries by the architecture, and multiply them by the workgroups of a compute unit. What these sources
say is evaluated here and nowhere else, for one architecture. Fields that functions of the file fill in later
are unknown: names have a gap there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ckprof.errors import InputError
from ckprof_plugins.consumers.audit import read_file

if TYPE_CHECKING:
    from pathlib import Path


#: places of the lists below the root of a checkout or of an installed package, and beside the package
_PLACES: Final = ("csrc", "aiter_meta/csrc", "../csrc", "../aiter_meta/csrc")
_FILES: Final = ("*/*_common.py", "*/*_instance.py")
#: names of dictionaries whose numbers count
_NUMBERED: Final = ("kernels_list", "candidate_kernels_dict", "candidate_kernels_cktile_dict")
#: end of the name of what a file makes if the build looks kernels up by name
_BY_NAME: Final = "kernels_by_name"
#: multiplies a dictionary by the workgroups of a compute unit
_EXPAND: Final = "expand_blockpercu"
#: in files whose lists differ by architecture
_ASKS: Final = b"get_gfx"
#: stands in names for what is not known
_GAP: Final = "\0"
#: characters of the longest name
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelsOfFile:
    """One list, or those kernels of a file whose names begin alike."""

    path: Path
    #: first words of all names, e.g. ``a8w8_rowwise``
    prefix: str
    #: number -> name
    names: Mapping[int, str]
    #: the build looks kernels up by name, whatever number a row has
    by_name: bool = False
    #: of names: those without gaps
    whole: frozenset[str]

    def has(self, name: str) -> bool:
        """Say whether a kernel has a name, gaps aside."""
        return name in self.whole or (len(name) <= _LONGEST and _fits(frozenset(self.names.values()), name))


@lru_cache(maxsize=1 << 12)
def _fits(names: frozenset[str], name: str) -> bool:
    return any(_pattern(one).fullmatch(name) for one in names if _GAP in one)


@lru_cache(maxsize=1 << 12)
def _pattern(name: str) -> re.Pattern[str]:
    # a part that is not known may be empty, and is left out then; gaps in a row are one
    parts = re.split(f"(?:_?{_GAP})+", name)
    return re.compile(".*".join(map(re.escape, parts)))


def prefix_of(name: str) -> str:
    """Return the words of a kernel's name up to the first number: whose list it is of."""
    return "_".join(takewhile(lambda word: not word[:1].isdigit(), name.split("_")))


class TreeLists(NamedTuple):
    """What a tree has."""

    lists: Sequence[KernelsOfFile]
    #: why files with lists cannot be read
    unreadable: Sequence[InputError]


def read_tree(root: Path, arch: str = "") -> TreeLists:
    """Return the lists of a tree, for one architecture.

    :raises InputError: the tree has none.
    """
    for place in _PLACES:
        lists: list[KernelsOfFile] = []
        unreadable: list[InputError] = []
        for path in sorted(path for pattern in _FILES for path in (root / place).glob(pattern)):
            data = read_file(path)
            found = _lists_of(path, data, arch if _ASKS in data else "")
            if isinstance(found, InputError):
                unreadable.append(found)
            else:
                lists += found
        if lists or unreadable:
            return TreeLists(lists, unreadable)
    raise InputError(f"has no lists of kernels below {' or '.join(_PLACES[:2])}", root)


@lru_cache(maxsize=256)
def _lists_of(path: Path, data: bytes, arch: str) -> Sequence[KernelsOfFile] | InputError:
    """Return the lists of a file, or why they cannot be read."""
    try:
        return list(_Module(ast.parse(data.decode()), path, arch).lists())
    except (SyntaxError, ValueError, MemoryError) as exc:
        return InputError(f"is no Python source: {exc}", path, getattr(exc, "lineno", None) or 0)
    except RecursionError:
        return InputError("has expressions that are nested too deeply", path)
    except InputError as exc:
        return exc


class _Instance(NamedTuple):
    """A kernel: its class, and field -> value."""

    kind: ast.ClassDef
    fields: Mapping[str, Any]


class _UnknownError(InputError):
    """What an expression gives cannot be said."""


class _Module:
    """A source file, evaluated for an architecture."""

    def __init__(self, module: ast.Module, path: Path, arch: str) -> None:
        self._path, self._arch = path, arch
        self._scope: dict[str, Any] = {}
        self._failed: dict[str, _UnknownError] = {}
        self._classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
        self._functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
        #: fields that functions fill in
        self._late = {
            target.attr
            for name, function in self._functions.items()
            for node in ast.walk(function)
            if name != _EXPAND and isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute)
        }
        self._run(module.body)

    def lists(self) -> Iterator[KernelsOfFile]:
        """Yield the lists.

        :raises InputError: one is there that cannot be evaluated.
        """
        numbered = [name for name in _NUMBERED if name in self._scope or name in self._failed]
        by_name = any(name.endswith(_BY_NAME) for name in (*self._scope, *self._failed))
        kernels: dict[int, _Instance] = {}
        if numbered:
            if numbered[0] not in self._scope:
                raise self._failed[numbered[0]]
            kernels = _instances(self._scope[numbered[0]])
        else:
            # which of the others is taken is decided by types, and numbers are those of a copy
            groups = [one for value in self._scope.values() for one in _nested(value)]
            kernels = dict(enumerate(kernel for group in groups for kernel in group.values()))
        families: dict[str, dict[int, str]] = {}
        for number, kernel in kernels.items():
            name = str(self._field(kernel, "name"))
            families.setdefault(prefix_of(name.partition(_GAP)[0]), {})[number] = name
        for prefix, names in families.items():
            whole = frozenset(name for name in names.values() if _GAP not in name)
            yield KernelsOfFile(path=self._path, prefix=prefix, names=names, by_name=by_name, whole=whole)

    def _run(self, statements: Sequence[ast.stmt]) -> None:
        for node in statements:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._scope.pop(name, None)
                    try:
                        self._scope[name] = self._value(value, self._scope)
                    except _UnknownError as exc:
                        self._failed[name] = exc
                case ast.If(test=test, body=body, orelse=orelse):
                    with suppress(_UnknownError):
                        self._run(body if self._value(test, self._scope) else orelse)

    def _unknown(self, node: ast.AST, message: str = "") -> _UnknownError:
        text = message or f"cannot evaluate {ast.unparse(node)[:60]!r}"
        return _UnknownError(text, self._path, getattr(node, "lineno", 0))

    def _instance(self, kind: ast.ClassDef, call: ast.Call, scope: Mapping[str, Any]) -> _Instance:
        declared = [node for node in kind.body if isinstance(node, ast.AnnAssign)]
        names = [node.target.id for node in declared if isinstance(node.target, ast.Name)]
        fields = {
            name: self._value(node.value, scope)
            for name, node in zip(names, declared, strict=True)
            if node.value is not None
        }
        fields |= zip(names, (self._value(one, scope) for one in call.args), strict=False)
        fields |= {item.arg: self._value(item.value, scope) for item in call.keywords if item.arg}
        return _Instance(kind, {**fields, **dict.fromkeys(self._late, _GAP)})

    def _field(self, kernel: _Instance, name: str) -> Any:
        if name in kernel.fields:
            return kernel.fields[name]
        for node in kernel.kind.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return self._returned(node, {**self._scope, "self": kernel})
        raise self._unknown(kernel.kind, f"the class of the kernels has no {name!r}")

    def _returned(self, function: ast.FunctionDef, scope: dict[str, Any]) -> Any:
        """Return what a property returns."""
        pending = list(function.body)
        while pending:
            node = pending.pop(0)
            match node:
                case ast.Return(value=ast.expr() as value):
                    return self._value(value, scope)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    scope[name] = self._value(value, scope)
                case ast.If(test=test, body=body, orelse=orelse):
                    pending[:0] = body if self._value(test, scope) else orelse
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item])
                ) if isinstance(scope.get(name), list):
                    scope[name] = [*scope[name], self._value(item, scope)]
                case ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise self._unknown(node)
        raise self._unknown(function, f"{function.name!r} returns nothing")

    def _value(self, node: ast.expr, scope: Mapping[str, Any]) -> Any:
        result = self._evaluated(node, scope)
        if isinstance(result, str) and len(result) > _LONGEST and not isinstance(node, ast.Constant):
            raise self._unknown(node, f"a name of more than {_LONGEST} characters")
        return result

    def _evaluated(self, node: ast.expr, scope: Mapping[str, Any]) -> Any:
        def value(inner: ast.expr) -> Any:
            return self._value(inner, scope)

        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [value(item) for item in items]
            case ast.Dict(keys=keys, values=values):
                table: dict[Any, Any] = {}
                for key, item in zip(keys, values, strict=True):
                    # without a key: all of another dictionary
                    inner = value(item)
                    table |= {self._key(value(key), key): inner} if key else self._dict(inner, item)
                return table
            case ast.DictComp(key=key, value=item, generators=[loop]):
                names = self._loop(loop, scope)
                return {self._key(self._value(key, one), key): self._value(item, one) for one in names}
            case ast.GeneratorExp(elt=item, generators=[loop]) | ast.ListComp(elt=item, generators=[loop]):
                return [self._value(item, one) for one in self._loop(loop, scope)]
            case ast.Name(id=name) if name in scope:
                return scope[name]
            case ast.Attribute(value=owner, attr=name):
                kernel = value(owner)
                if isinstance(kernel, _Instance):
                    return self._field(kernel, name)
            case ast.JoinedStr(values=parts):
                return "".join(self._text(value(part), part) for part in parts)
            case ast.FormattedValue(value=shown, conversion=-1, format_spec=None):
                return value(shown)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = value(test)
                return _GAP if chosen == _GAP else value(body if chosen else orelse)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._text(value(left), left) + self._text(value(right), right)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as operator], comparators=[right]):
                return (value(left) == value(right)) is isinstance(operator, ast.Eq)
            case ast.Subscript(value=owner, slice=index):
                chosen = value(index)
                if chosen == _GAP:
                    return _GAP
                found = self._dict(value(owner), owner)
                if self._key(chosen, index) in found:
                    return found[chosen]
            case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body):
                return lambda one: self._value(body, {**scope, name: one})
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments, keywords=[]):
                return self._method(node, value(owner), name, [value(one) for one in arguments])
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="str"), items]):
                return [self._text(item, items) for item in value(items)]
            case ast.Call(func=ast.Name(id="map"), args=[ast.Lambda() as function, items]):
                call: Callable[[Any], Any] = value(function)
                return [call(item) for item in value(items)]
            case ast.Call(func=ast.Name(id=name)) if name in self._classes:
                return self._instance(self._classes[name], node, scope)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, [value(one) for one in arguments])
        raise self._unknown(node)

    def _loop(self, loop: ast.comprehension, scope: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the names that a comprehension knows, for each item."""
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        items = self._value(loop.iter, scope)
        for item in items if isinstance(items, (list, str)) else ():
            values = item if isinstance(loop.target, ast.Tuple) else [item]
            inner = {**scope, **dict(zip(names, values, strict=False))}
            if all(self._value(test, inner) for test in loop.ifs):
                yield inner

    def _method(self, node: ast.expr, owner: Any, name: str, arguments: list[Any]) -> Any:
        match owner, name, arguments:
            case str(), "join", [list() | str() as items]:
                return owner.join(self._text(item, node) for item in items)
            case str(), "lower" | "upper", []:
                return getattr(owner, name)()
            case str(), "startswith", [str(start)]:
                return owner.startswith(start)
            case dict(), "items", []:
                return [list(pair) for pair in owner.items()]
            case dict(), "values", []:
                return list(owner.values())
        raise self._unknown(node)

    def _call(self, node: ast.Call, name: str, arguments: list[Any]) -> Any:
        match name, arguments:
            case "str", [inner]:
                return self._text(inner, node)
            case "int", [bool() | int() as inner]:
                return int(inner)
            case "int", ["\0"]:
                return _GAP
            case "get_gfx", []:
                return self._arch
            case "expand_blockpercu", [dict() as base] if name in self._functions:
                return self._expanded(_instances(base))
        raise self._unknown(node)

    def _expanded(self, base: dict[int, _Instance]) -> dict[int, _Instance]:
        """Return a dictionary with the kernels that it lacks for numbers of workgroups of a compute unit."""
        most = self._scope.get("BLOCK_PER_CU_MAX", 0)
        arguments = self._functions[_EXPAND].args
        field = next(
            (item.value for item in reversed(arguments.defaults) if isinstance(item, ast.Constant)), None
        )
        alike: dict[str, dict[Any, int]] = {}
        for number, kernel in base.items():
            others = repr([(name, value) for name, value in kernel.fields.items() if name != field])
            alike.setdefault(others, {})[kernel.fields.get(str(field))] = number
        expanded = dict(base)
        for numbers in alike.values():
            template = base[next(iter(numbers.values()))]
            for count in range(1, most + 1):
                if count not in numbers:
                    fields = {**template.fields, str(field): count}
                    expanded[max(expanded) + 1] = template._replace(fields=fields)
        return expanded

    def _text(self, value: Any, node: ast.AST) -> str:
        if isinstance(value, (str, int, float)):
            return str(value)
        raise self._unknown(node)

    def _dict(self, value: Any, node: ast.AST) -> dict[Any, Any]:
        if isinstance(value, dict):
            return value
        raise self._unknown(node)

    def _key(self, value: Any, node: ast.AST) -> Any:
        if isinstance(value, (str, int)):
            return value
        raise self._unknown(node)


def _instances(value: Any) -> dict[int, _Instance]:
    """Return the kernels of a dictionary."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {key: one for key, one in pairs if isinstance(key, int) and isinstance(one, _Instance)}


def _nested(value: Any) -> Iterator[dict[int, _Instance]]:
    """Yield the kernels of a dictionary, or of each dictionary in it."""
    kernels = _instances(value)
    if kernels:
        yield kernels
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _nested(inner) if isinstance(inner, dict) else ()
