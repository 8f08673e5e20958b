"""The boundary between ckprof and the code of plugins.

Each call into a plugin passes a :class:`Boundary`. Hooks are called within one; an object that a plugin
registers is replaced by a guard, whose members read and call those of the object within one. What they raise
that their docstring does not allow, and what they return that is not of the declared type, becomes a
:class:`~ckprof.errors.PluginError` with plugin, object and member.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from ckprof.errors import CkprofError, PluginError, UsageError
from ckprof.plugin.members import Member, check_of, function_result, members_of, protocol_named

if TYPE_CHECKING:
    from types import TracebackType

#: exception, plugin whose code was called -> name of another plugin that raised it, or an empty text
Culprit = Callable[[BaseException, str], str]

#: lines of a traceback that are shown
_SHOWN: Final = 12
_HERE: Final = str(Path(__file__).parent)
_END: Final = object()


@dataclass(frozen=True, slots=True)
class Boundary:
    """As a context manager, reports what code of a plugin raises; interrupts pass.

    :param plugin: name of the plugin; if empty, only what the culprit has raised is reported.
    :param subject: its hook, or object and member, for messages.
    :param culprit: names the plugin in whose code an exception was raised, if that is another one.
    :param allowed: what may be raised.
    """

    plugin: str
    subject: str
    culprit: Culprit = lambda error, plugin: ""
    allowed: tuple[type[BaseException], ...] = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, (KeyboardInterrupt, PluginError, *self.allowed)):
            return
        other = self.culprit(error, self.plugin)
        if other:
            where = f"in {self.subject} of plugin {self.plugin}" if self.plugin else f"during {self.subject}"
            raise PluginError(f"plugin {other}: {described(error)} {where}") from error
        if self.plugin:
            raise PluginError(f"plugin {self.plugin}: {self.subject} {described(error)}") from error

    def member(self, name: str, allowed: tuple[type[BaseException], ...] = ()) -> Boundary:
        """Return the boundary around a member of the object that this one is for."""
        return replace(self, subject=f"{self.subject}: {name}", allowed=allowed)

    def wrong(self, problem: str) -> PluginError:
        """Return the error that says what is wrong with the object."""
        return PluginError(f"plugin {self.plugin}: {self.subject}: {problem}")

    def answer(self, value: object, annotation: str, module: str, verb: str = "returned") -> object:
        """Return a value that came from the plugin, checked; an object of a protocol is guarded.

        :param module: the one that mentions the annotation.
        :raises PluginError: it is not of the type.
        """
        protocol = protocol_named(annotation, module)
        if protocol is not None and value is not None:
            returned = replace(self, subject=f"{self.subject}()", allowed=())
            return guarded(value, returned if verb == "returned" else self, protocol)
        # containers and properties may be the plugin's own
        with self:
            fits = check_of(annotation, module)(value)
        if not fits:
            raise PluginError(
                f"plugin {self.plugin}: {self.subject} {verb} {shown(value)}, expected {annotation}"
            )
        return self._iterated(value) if isinstance(value, Iterator) else exact(value)

    def _iterated(self, items: Iterator[object]) -> Iterator[object]:
        """Yield what an iterator of the plugin yields."""
        while True:
            with self:
                item = next(items, _END)
            if item is _END:
                return
            yield item


class Guard:
    """Base of the guards; each object has a class of its own, with the members of its protocols.

    Whatever else the object has is reached through the guard, unchecked.
    """

    #: the object of the plugin
    _guarded: object = None
    _boundary: Boundary

    def __getattr__(self, name: str) -> object:
        with self._boundary.member(name, (AttributeError,)):
            return getattr(self._guarded, name)

    def __repr__(self) -> str:
        return f"<guard of {type(self._guarded).__name__}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError(f"{self._boundary.subject} cannot be pickled: make it in the other process")


def guarded(item: object, boundary: Boundary, protocol: type) -> object:
    """Return what takes the place of an object: a guard, or a copy of a dataclass with guarded functions.

    Optional members that the object lacks are those of the protocol.

    :param boundary: around the object.
    :param protocol: what it must have.
    :raises PluginError: it lacks members, or a field of the dataclass is of another type.
    """
    if dataclasses.is_dataclass(protocol):
        return _guarded_record(item, boundary, protocol)
    members = members_of(protocol)
    having = {member.name for member in members if has_member(item, boundary, member, protocol)}
    needed = {name for member in members if member.name in having for name in member.together}
    missing = [
        member.spelling
        for member in members
        if member.name not in having and (not member.optional or member.name in needed)
    ]
    if missing:
        raise boundary.wrong(f"lacks {', '.join(missing)}")
    with boundary:
        namespace: dict[str, object] = {
            name: _passed_on(name) for name in dir(item) if not name.startswith("_")
        }
    for member in members:
        if member.name not in having:
            namespace[member.name] = getattr(protocol, member.name)
            continue
        inner = boundary.member(member.name, (*boundary.allowed, *member.raises))
        read = partial(getattr, item, member.name)
        namespace[member.name] = (
            _attribute(read, member, inner)
            if member.parameters is None
            else staticmethod(_called(read, member.annotation, member.module, inner))
        )
    # what is generated depends on the package that an object comes from
    namespace |= {"_guarded": item, "_boundary": boundary, "__module__": type(item).__module__}
    return type(f"Guarded{type(item).__name__}", (Guard,), namespace)()


def described(error: BaseException) -> str:
    """Return what was raised, as the end of a sentence; no exception can make this fail."""
    text = _text(error)
    if isinstance(error, SystemExit):
        return f"called sys.exit({text})"
    return f"raised {type(error).__name__}: {text}" if text else f"raised {type(error).__name__}"


def import_failure(error: BaseException) -> str:
    """Return why a plugin cannot be imported or registered, for tables and warnings."""
    todo = "; install it (your own: pip install -e FOLDER), or name its folder in PYTHONPATH"
    # of 'a.b' the package a is there
    is_missing = isinstance(error, ModuleNotFoundError) and "." not in str(error.name)
    return f"{type(error).__name__}: {_text(error)}{todo if is_missing else ''}"


def shown(value: object) -> str:
    """Return what a value is, for messages; the value itself is not asked, it may be hostile."""
    return "None" if value is None else f"an object of type {type(value).__name__}"


def exact(value: object) -> object:
    """Return the text of a text of a class of its own, which may do anything when it is used."""
    return str.__str__(value) if issubclass(type(value), str) else value


def traceback_lines(error: BaseException) -> list[str]:
    """Return the first lines of the traceback of what a plugin raised, from the plugin's own code on.

    :param error: a :class:`PluginError`; one that has no cause has no traceback to show.
    """
    import traceback

    cause = error.__cause__
    if cause is None:
        return []
    start = frame = cause.__traceback__
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if file.startswith(_HERE) or "/pluggy/" in file:
            start = frame.tb_next or start
        frame = frame.tb_next
    lines = "".join(traceback.format_exception(type(cause), cause, start, chain=False)).splitlines()
    return lines if len(lines) <= _SHOWN else [*lines[: _SHOWN - 2], "  ...", lines[-1]]


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text cannot be read)"


def _passed_on(name: str) -> property:
    return property(lambda guard: Guard.__getattr__(guard, name))


def _attribute(read: Callable[[], object], member: Member, boundary: Boundary) -> object:
    """Return an attribute that is read when it is first asked for, and then kept."""

    def value_of(_: object) -> object:
        with boundary:
            value = read()
        return boundary.answer(value, member.annotation, member.module, "is")

    return cached_property(value_of)


def _called(
    find: Callable[[], Callable[..., object]], annotation: str, module: str, boundary: Boundary
) -> Callable[..., object]:
    """Return what finds a function of the plugin, calls it, and checks what it returns."""

    def call(*arguments: object, **named: object) -> object:
        with boundary:
            result = find()(*arguments, **named)
        return boundary.answer(result, annotation, module)

    return call


def _guarded_record(item: object, boundary: Boundary, kind: type) -> object:
    """Return a copy of a dataclass whose functions may raise errors of ckprof and nothing else."""
    with boundary:
        fits = isinstance(item, kind)
    if not fits:
        raise boundary.wrong(f"is {shown(item)}, expected {kind.__name__}")
    changes: dict[str, object] = {}
    for field in members_of(kind):
        inner = boundary.member(field.name, (CkprofError,))
        with inner:
            given = getattr(item, field.name)
        value = inner.answer(given, field.annotation, field.module, "is")
        result = function_result(field.annotation)
        if result and value is not None:
            function = cast("Callable[..., object]", value)
            value = _called(lambda function=function: function, result, field.module, inner)  # type: ignore[misc]
        if value is not given:
            changes[field.name] = value
    with boundary:
        return replace(cast("Any", item), **changes) if changes else item


def has_member(item: object, boundary: Boundary, member: Member, protocol: type) -> bool:
    """Say whether an object has a member of its own; properties are not read for that."""
    # classes may have attributes of their own making
    with boundary.member(member.name):
        in_class = getattr(type(item), member.name, None)
        if in_class is not None:
            # a class that derives from the protocol inherits members without a body
            return in_class is not getattr(protocol, member.name, None)
        return hasattr(item, member.name)
