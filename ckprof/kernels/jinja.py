"""The one Jinja2 environment in which all C++ is written.

Jinja2 is imported on first use: commands that write no C++ do not pay for it.

Thousands of kernels differ in their names and sizes alone. So a template is run once for all texts that
differ only in what it prints (:func:`render_cached`): with marks in the place of such values, which are
replaced for each kernel.
"""

from __future__ import annotations

import dataclasses
import re
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jinja2 import Environment


#: Between the package and the file in a template's name.
_DELIMITER = ":"


def render(package: str, template: str, **values: object) -> str:
    """Return the text of a template filled with ``values``.

    :param package: import name of the package in whose folder ``templates`` the file lies. A template may
        include or extend others of its package by their file name, and those of another package as
        ``package:file``.
    :param template: file name, e.g. ``kernel.hpp.j2``.
    :raises jinja2.UndefinedError: the template names a value that was not given.
    :raises ValueError: its syntax is wrong.
    """
    from jinja2 import TemplateSyntaxError

    try:
        return _environment().get_template(f"{package}{_DELIMITER}{template}").render(values)
    except TemplateSyntaxError as exc:
        raise ValueError(f"{exc.name}, line {exc.lineno}: {exc.message}") from exc


def _source(name: str) -> str | None:
    """Return the text of the template ``package:file``; ``None`` if there is none."""
    package, _, file = name.partition(_DELIMITER)
    path = files(package) / "templates" / file
    return path.read_text(encoding="utf-8") if path.is_file() else None


@lru_cache(maxsize=1)
def _environment() -> Environment:
    import jinja2

    class PackageEnvironment(jinja2.Environment):
        """Resolves included templates relative to the package of the including one."""

        def join_path(self, template: str, parent: str) -> str:
            if _DELIMITER in template:
                return template
            return f"{parent.partition(_DELIMITER)[0]}{_DELIMITER}{template}"

    return PackageEnvironment(
        loader=jinja2.FunctionLoader(_source),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        cache_size=-1,
    )


#: Surrounds the number of a value; no template can contain it.
_MARK: Final = "\0"
_MARKED: Final = re.compile(f"{_MARK}([0-9]+){_MARK}")


def render_cached(package: str, template: str, values: Any, literal_fields: Sequence[str]) -> str:
    """Return what :func:`~ckprof.kernels.jinja.render` gives for ``p=values``.

    :param values: a frozen dataclass of hashable values.
    :param literal_fields: its fields whose strings and integers the template prints as they are and
        nothing else: they
        decide about no branch and are not computed with. They may be nested in tuples, whose lengths may
        decide.
    """
    kind: Any = type(values)
    printed: list[str] = []
    shape = tuple([_shape(getattr(values, name), printed) for name in literal_fields])
    rest = tuple([getattr(values, name) for name in _other_fields(kind, tuple(literal_fields))])
    pieces = _pieces(package, template, kind, tuple(literal_fields), shape, rest)
    parts = list(pieces)
    for position in range(1, len(parts), 2):
        parts[position] = printed[int(parts[position])]
    return "".join(parts)


@lru_cache(maxsize=512)
def _pieces(
    package: str,
    template: str,
    kind: Any,
    literal_fields: tuple[str, ...],
    shape: tuple[Any, ...],
    rest: tuple[Any, ...],
) -> tuple[str, ...]:
    """Return the text of the template cut at the marks: text, number of a value, text, ..."""
    numbers = iter(range(10**9))
    marked = {name: _marks(part, numbers) for name, part in zip(literal_fields, shape, strict=True)}
    others = dict(zip(_other_fields(kind, literal_fields), rest, strict=True))
    return tuple(_MARKED.split(render(package, template, p=kind(**others, **marked))))


def _shape(value: Any, printed: list[str]) -> Any:
    """Return the nesting of a value, and append what it prints."""
    if isinstance(value, tuple):
        shapes = []
        for item in value:
            shape, texts = _flat(item)
            shapes.append(shape)
            printed.extend(texts)
        return tuple(shapes)
    printed.append(str(value))
    return None


@lru_cache(maxsize=8192)
def _flat(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the nesting of a value and what it prints; most values occur in many kernels."""
    printed: list[str] = []
    return _shape(value, printed), tuple(printed)


def _marks(shape: Any, numbers: Iterator[int]) -> Any:
    if isinstance(shape, tuple):
        return tuple(_marks(item, numbers) for item in shape)
    return f"{_MARK}{next(numbers)}{_MARK}"


@lru_cache(maxsize=64)
def _other_fields(kind: Any, literal_fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in literal_fields)
