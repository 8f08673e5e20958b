"""What stands between ckprof and an object of a plugin.

When an object is registered, it is checked against its contract; then a guard takes its place. The guard has
the members of the contract: attributes as they were found, and methods that call those of the object. What
they raise that their docstring does not allow, and what they return that is not of the declared type, becomes
a :class:`~ckprof.errors.PluginError` with plugin, object and member.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING

from ckprof.errors import PluginError
from ckprof.plugin.contracts import Member, members_of
from ckprof.plugin.failure import STOPPING, failed
from ckprof.plugin.value_types import callable_parts, check_of, is_decided_by_class, shown

if TYPE_CHECKING:
    from ckprof.plugin.contracts import Contract


#: exception, plugin whose object was called -> name of another plugin that raised it, or an empty text
Culprit = Callable[[BaseException, str], str]


def _nobody(error: BaseException, provider: str) -> str:
    return ""


class Guard:
    """Base of all guards; each object has a class of its own, with the members of its contract.

    Whatever else the object has is reached through the guard, unchecked.
    """

    #: the object of the plugin
    _guarded: object = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._guarded, name)

    def __repr__(self) -> str:
        return f"<guard of {type(self._guarded).__name__}>"


def guarded(item: object, contract: Contract, provider: str, culprit: Culprit = _nobody) -> object:
    """Return what takes the place of an object: a guard, or a copy of a dataclass with guarded functions.

    :param provider: name of the plugin that registers it.
    :param culprit: names the plugin in whose code an exception was raised, if that is another one.
    :raises PluginError: it does not fulfil the contract; the message names plugin, object and member.
    """
    checked = _Checked(item, contract, provider, culprit)
    if dataclasses.is_dataclass(contract.protocol):
        return checked.copy()
    return checked.guard()


def _passed_on(name: str) -> property:
    return property(lambda guard: getattr(guard._guarded, name))


class _Checked:
    """One object while it is checked."""

    def __init__(self, item: object, contract: Contract, provider: str, culprit: Culprit) -> None:
        self._item = item
        self._contract = contract
        self._provider = provider
        self._culprit = culprit
        self._what = contract.kind
        identifier = self._read(contract.identifier)
        if not isinstance(identifier, str) or not identifier:
            raise PluginError(
                f"plugin {provider}: {contract.hook} returned {shown(item)}, "
                f"which has no {contract.identifier}"
            )
        self._what = f"{contract.kind} {identifier!r}"

    def guard(self) -> object:
        """Return the guard of an object that follows a protocol."""
        namespace: dict[str, object] = {
            "_guarded": self._item,
            # what is generated depends on the package that an object comes from
            "__module__": type(self._item).__module__,
        }
        for member in self._members():
            namespace[member.name] = (
                self._attribute(member) if member.parameters is None else self._method(member)
            )
        for name in dir(self._item):
            # since Python 3.12, isinstance() looks for a protocol's members without __getattr__
            if not name.startswith("_") and name not in namespace:
                namespace[name] = _passed_on(name)
        return type(f"Guarded{type(self._item).__name__}", (Guard,), namespace)()

    def copy(self) -> object:
        """Return a copy of a dataclass whose functions are guarded."""
        kind = self._contract.protocol
        if not isinstance(self._item, kind):
            raise self._wrong(f"is {shown(self._item)}, expected {kind.__name__}")
        changes: dict[str, object] = {}
        for field in members_of(kind):
            value = self._checked_value(field.name, field.annotation)
            parts = callable_parts(field.annotation)
            if parts is not None and value is not None:
                count, result = parts
                member = Member(
                    name=field.name,
                    parameters=tuple(f"argument_{number + 1}" for number in range(count)),
                    annotation=result,
                    raises=self._contract.raises.get(field.name, ()),
                )
                self._check_signature(value, member)
                changes[field.name] = self._function(value, member)
        problem = self._contract.further_check(self._item) if self._contract.further_check else ""
        if problem:
            raise self._wrong(problem)
        if not changes:
            return self._item
        assert dataclasses.is_dataclass(self._item) and not isinstance(self._item, type)  # noqa: S101
        return dataclasses.replace(self._item, **changes)

    def _members(self) -> list[Member]:
        """Return the members of the protocol, and of the abilities that the object has.

        :raises PluginError: some are missing.
        """
        found = list(members_of(self._contract.protocol))
        missing = [member for member in found if not self._has(member, self._contract.protocol)]
        for ability in self._contract.abilities:
            members = members_of(ability)
            present = [member for member in members if self._has(member, ability)]
            absent = [m for m in members if m not in present and m.name not in self._contract.defaults]
            if present and absent:
                missing += absent
            elif present:
                found += members
        if missing:
            raise self._wrong(f"lacks {', '.join(member.spelling for member in missing)}")
        return found

    def _has(self, member: Member, protocol: type) -> bool:
        """Say whether the object has a member of its own; properties are not read for that."""
        for name in (member.name, self._contract.former_names.get(member.name, member.name)):
            known = getattr(type(self._item), name, None)
            # a class that derives from the protocol inherits members without a body
            if known is not None and known is not vars(protocol).get(name):
                return True
            if known is None and self._answers(name):
                return True
        return False

    def _answers(self, name: str) -> bool:
        try:
            getattr(self._item, name)
        except AttributeError:
            return False
        except STOPPING:
            raise
        except BaseException as error:
            raise failed(self._provider, f"{self._what}: {name}", error) from error
        return True

    def _read(self, name: str) -> object:
        """Return an attribute of the object, ``None`` if it has none of that name."""
        try:
            return getattr(self._item, name, None)
        except STOPPING:
            raise
        except BaseException as error:
            raise failed(self._provider, f"{self._what}: {name}", error) from error

    def _checked_value(self, name: str, annotation: str) -> object:
        value = self._read(name)
        if value is None and name in self._contract.defaults:
            return self._contract.defaults[name]
        if not check_of(annotation)(value):
            raise self._wrong(f"{name} is {shown(value)}, expected {annotation}")
        return value

    def _attribute(self, member: Member) -> object:
        if member.name not in self._contract.late:
            return self._checked_value(member.name, member.annotation)
        return property(lambda guard: self._checked_value(member.name, member.annotation))

    def _method(self, member: Member) -> object:
        value = self._read(member.name)
        if value is None:
            value = self._read(self._contract.former_names.get(member.name, member.name))
        if not callable(value):
            raise self._wrong(f"{member.name} is {shown(value)}, expected a method {member.spelling}")
        self._check_signature(value, member)
        return staticmethod(self._function(value, member))

    def _function(self, function: object, member: Member) -> Callable[..., object]:
        """Return what calls a function of the object and checks what comes of it."""
        assert callable(function)  # noqa: S101 - checked before
        target: Callable[..., object] = function
        accepts, remembers = check_of(member.annotation), is_decided_by_class(member.annotation)
        #: classes of results that fitted
        fitting: set[type] = set()
        allowed: tuple[type[BaseException], ...] = (*STOPPING, *member.raises, PluginError)
        place = f"{self._what}: {member.name}"
        provider, culprit = self._provider, self._culprit

        def call(*arguments: object, **named: object) -> object:
            try:
                result = target(*arguments, **named)
            except allowed:
                raise
            except BaseException as error:
                raise failed(provider, place, error, culprit(error, provider)) from error
            if type(result) in fitting:
                return result
            if not accepts(result):
                raise PluginError(
                    f"plugin {provider}: {place} returned {shown(result)}, expected {member.annotation}"
                )
            if remembers:
                fitting.add(type(result))
            return result

        return call

    def _check_signature(self, function: object, member: Member) -> None:
        """Check that a function takes the arguments that it will be called with."""
        wanted = member.parameters or ()
        if _takes_exactly(function, len(wanted)) or not callable(function):
            return
        try:
            inspect.signature(function).bind(*wanted)
        except TypeError as error:
            raise self._wrong(f"{member.name} cannot be called as {member.spelling}: {error}") from None
        except ValueError:
            pass  # built-in functions do not say what they take

    def _wrong(self, problem: str) -> PluginError:
        return PluginError(f"plugin {self._provider}: {self._what}: {problem}")


def _takes_exactly(function: object, count: int) -> bool:
    """Say whether a plain function or method takes so many arguments and no others: the usual case."""
    if isinstance(function, MethodType):
        function, count = function.__func__, count + 1
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return False
    code = function.__code__
    return code.co_argcount == count and not code.co_kwonlyargcount
