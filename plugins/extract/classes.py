"""The device classes: their parameters as installed, and what instance strings print of them.

What is known of each class is data (``classes.json``): a new class is a new record. An entry of a string is

* ``Name``, a template parameter; ``Name:flag`` prints true or false, ``Name:integer`` 1 or 0 and
  ``Name:letter`` the first letter;
* ``Name|Other`` or ``Name|=text`` for parameters that some releases lack;
* text with entries in braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof.model.strings.argument_kinds import elements_of
from ckprof_plugins.extract.cpp_text import TokenStream, preprocess, read_parameters
from ckprof_plugins.extract.headers import DEVICES, print_argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.extract.cpp_text import Expr, TemplateParameter
    from ckprof_plugins.extract.headers import HeaderTree

_FORMATS: Final[Mapping[str, Mapping[str, str]]] = {
    "flag": {"0": "false", "1": "true"},
    "integer": {"false": "0", "true": "1"},
}
_BRACES: Final = re.compile(r"\{([^}]*)\}")


class ClassRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one device class."""

    #: file name among the headers of device classes
    header: str
    #: name in instance strings, where it differs
    name: str = ""
    #: parameter -> the parameter whose value it takes, the first of several types, for defaults that are C++
    #: expressions
    defaults: dict[str, str] = {}
    #: parameter in some release -> its name here
    synonyms: dict[str, str] = {}
    #: parameters that no string prints
    silent: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    #: instead of fields: the whole instance string
    text: str = ""
    type_string: tuple[str, ...] = ()
    #: instead of fields: the whole type string
    type_text: str = ""
    #: parameter -> what follows the name in type strings where it is true
    type_suffix: dict[str, str] = {}
    #: the parameter that holds the class which the tuples list
    wraps: str = ""
    #: why no string can be written
    refusal: str = ""


@cache
def class_records() -> Mapping[str, ClassRecord]:
    """Return all known classes."""
    return msgspec.json.decode(
        (files(__package__) / "classes.json").read_bytes(), type=dict[str, ClassRecord]
    )


class DeviceClass:
    """One class as an installed library declares it.

    :raises InputError: the class is unknown or not declared, or no string accounts for its parameters.
    """

    def __init__(self, headers: HeaderTree, name: str) -> None:
        known = class_records().get(name)
        if known is None:
            raise InputError(f"unknown device class {name}; its instance string is not in the class table")
        path = f"{DEVICES}/{known.header}"
        text = headers.find(path)
        if text is None:
            raise InputError(f"{name} is used, but the header that declares it is missing", path)
        head = read_head(text, name, path)
        self.name = name
        self.record = known
        self.parameters = tuple(item for item in head if item.kind != "condition")
        #: names of the parameters as the class table has them
        self.names = tuple(known.synonyms.get(item.name, item.name) for item in self.parameters)
        #: unnamed parameters after the others, which are conditions of the template and printed nowhere
        self.conditions = len(head) - len(self.parameters)
        printed = {entry for text in (*known.fields, known.text) for entry in _entry_names(text)}
        unknown = [one for one in self.names if one not in printed and one not in known.silent]
        if unknown and not known.refusal and not known.wraps:
            raise InputError(
                f"{name} has parameters that no instance string is known for: {', '.join(unknown)}", path
            )

    def complete(self, written: Sequence[Expr]) -> tuple[str, ...]:
        """Return all arguments as strings print them, defaults filled in.

        :raises InputError: too few or too many arguments, or a default that is not known.
        """
        required = sum(not item.has_default for item in self.parameters)
        if not required <= len(written) <= len(self.parameters):
            raise InputError(
                f"{self.name} has {required} to {len(self.parameters)} parameters, "
                f"got {len(written)} arguments"
            )
        values: dict[str, str] = {}
        for index, (name, parameter) in enumerate(zip(self.names, self.parameters, strict=True)):
            if index < len(written):
                values[name] = print_argument(written[index], is_bool=parameter.kind == "bool")
            else:
                values[name] = self._default(name, parameter, values)
        return tuple(values.values())

    def _default(self, name: str, parameter: TemplateParameter, values: Mapping[str, str]) -> str:
        if parameter.default is not None:
            other = self.record.synonyms.get(parameter.default.name, parameter.default.name)
            if parameter.default.args is None and other in values:
                return values[other]
            return print_argument(parameter.default, is_bool=parameter.kind == "bool")
        if self.record.defaults.get(name) in values:
            return first_type(values[self.record.defaults[name]])
        raise InputError(f"the default of {name} of {self.name} is not known; add it to the class table")


def first_type(printed: str) -> str:
    """Return the first type of a tuple as strings print it, or the one type that there is."""
    return (elements_of(printed) or (printed,))[0]


def read_head(text: str, name: str, path: str) -> tuple[TemplateParameter, ...]:
    """Return the template parameters of a class.

    :raises InputError: the text does not define the class as a template.
    """
    for match in re.finditer(rf"\b(?:struct|class)\s+{name}\b(?!\s*[;<])", text):
        begin = text.rfind("template", 0, match.start())
        if begin < 0:
            continue
        plain, _ = preprocess(text[begin : match.start()], {}, path)
        stream = TokenStream(plain, path)
        if stream.texts[1:2] == ["<"]:
            return read_parameters(stream, 1)[0]
    raise InputError(f"no template {name} in this header", path)


def _entry_names(entry: str) -> list[str]:
    inner = _BRACES.findall(entry) if "{" in entry else [entry]
    return [part for item in inner for part in item.split(":")[0].split("|") if not part.startswith("=")]


#: prints an entry of a string, from parameter -> value
_Printer = Callable[[Mapping[str, str]], str]


def _printer(entry: str, device: str) -> _Printer:
    """Return what prints an entry of a class."""
    if "{" in entry:
        parts = _BRACES.split(entry)
        inner = [_printer(part, device) for part in parts[1::2]]
        return lambda values: (
            parts[0] + "".join(write(values) + text for write, text in zip(inner, parts[2::2], strict=True))
        )
    wanted, _, otherwise = entry.partition("|")
    name, _, style = wanted.partition(":")
    table = _FORMATS.get(style, {})

    def write(values: Mapping[str, str]) -> str:
        value = values.get(name, values.get(otherwise))
        if value is not None:
            return value[:1] if style == "letter" else table.get(value, value)
        if otherwise.startswith("="):
            return otherwise[1:]
        raise InputError(f"{device} has no parameter {name}, which its instance string prints")

    return write


@cache
def string_writer(name: str) -> StringWriter:
    """Return what writes the strings of a class."""
    return StringWriter(name)


class StringWriter:
    """Writes the strings of one class, from parameter -> value, and more such as ``stages``."""

    def __init__(self, name: str) -> None:
        self._class = name
        self._record = record = class_records()[name]
        self._text = [_printer(entry, name) for entry in ([record.text] if record.text else record.fields)]
        typed = [record.type_text] if record.type_text else record.type_string
        self._type_text = [_printer(entry, name) for entry in typed]
        #: what each field of an instance string is
        self.field_names = tuple(
            entry.partition("|")[0].partition(":")[0]
            for entry in record.fields or _BRACES.findall(record.text)
        )

    def instance_string(self, values: Mapping[str, str]) -> str:
        """Return the instance string.

        :raises InputError: no string of the class is known, or the class lacks a parameter that it prints.
        """
        record = self._record
        if record.refusal:
            raise InputError(f"{self._class}: {record.refusal}")
        text = ",".join([write(values) for write in self._text])
        return text if record.text else f"{record.name or self._class}<{text}>"

    def type_string(self, values: Mapping[str, str]) -> str:
        """Return the shorter string of ``GetTypeString``; empty where none is known.

        :raises InputError: the class lacks a parameter that the string prints.
        """
        record = self._record
        text = ", ".join([write(values) for write in self._type_text])
        if record.type_text or not self._type_text:
            return text
        suffix = "".join(text for name, text in record.type_suffix.items() if values.get(name) == "true")
        return f"{self._class}{suffix}<{text}>"
