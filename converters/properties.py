"""Which layout and data type a list has: the lines, the request and the file name must agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType, spellings
from ckprof_converters.conf_family import StepError
from ckprof_plugins.directions._convolution.layout import LAYOUTS, ConvLayout, layout_of_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.tensor import Layout
    from ckprof_converters.compiled import CompiledFamily
    from ckprof_converters.conf_family import ConfFamily


_FILE_NAME: Final = "the file name"
_LAYOUT_OPTION: Final = "--layout"


def _in_name(path: Path, known: Mapping[str, Any]) -> Any:
    """Return what a file name such as ``nhwgc_fp16.conf`` says, if it says just one of what is known."""
    named = known.keys() & set(_words(path))
    return known[named.pop()] if len(named) == 1 else None


def _words(path: Path) -> list[str]:
    return re.split(r"[^a-z0-9]+", path.name.lower())


class FileFacts:
    """Layout and data type of the file: what the request says, else what the file name or the lines say.

    :param layouts: all that lines can have.
    :param dtypes: the same of data types.
    """

    def __init__(
        self, request: ConversionRequest, layouts: Sequence[Layout], dtypes: Sequence[DataType]
    ) -> None:
        self.layout: Any = request.layout
        self.dtype: DataType | None = request.dtype
        #: who said them first
        self._layout_origin, self._dtype_origin = _LAYOUT_OPTION, "--dtype"
        if self.layout is None:
            self.layout = _in_name(request.path, {layout.name: layout for layout in layouts})
            self._layout_origin = _FILE_NAME
        if self.dtype is None:
            self.dtype = _in_name(request.path, {dtype.value: dtype for dtype in dtypes})
            self._dtype_origin = _FILE_NAME
        #: the file name says the layout, and that it is a list of stream-K instances
        self.named_stream_k = (
            self.layout is not None
            and self._layout_origin == _FILE_NAME
            and "streamk" in _words(request.path)
        )
        self.notes: list[str] = []
        self._mma_k_table = request.mma_k_table
        self._known: dict[tuple[str, tuple[Any, ...]], ListReading] = {}

    def of_line(self, compiled: CompiledFamily, values: dict[str, Any], line: int) -> ListReading:
        """Return the properties that hold for a line.

        :param line: one-based, to say later which line said a fact first.
        :raises StepError: they contradict each other or the list, or are not known.
        """
        key = (compiled.family.id, compiled.fact_values(values))
        resolved = self._known.get(key)
        if resolved is None:
            resolved = self._resolve(compiled.family, values, line)
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[key] = resolved
        return resolved

    def _resolve(self, family: ConfFamily, values: dict[str, Any], line: int) -> ListReading:
        layout = self._line_layout(family, values)
        dtype = _line_dtype(family, values)
        first = family.layout_fields[0] if family.layout_fields else family.layout_name_field
        if layout is not None and first:
            if self.layout is None:
                self.layout, self._layout_origin = layout, f"line {line}"
            if self.layout is not layout:
                raise _contradiction(f"layout {layout.name}", self._layout_origin, self.layout.name, first)
        if dtype is not None:
            if self.dtype is None:
                self.dtype, self._dtype_origin = dtype, f"line {line}"
            if self.dtype is not dtype:
                said, field = self.dtype.value, family.dtype_fields[0]
                raise _contradiction(f"data type {dtype.value}", self._dtype_origin, said, field)
        layout = layout or self._stated_layout(family)
        dtype = dtype or self.dtype
        if dtype is not None and dtype not in family.dtypes:
            raise StepError(
                f"{family.title} lines have one of the data types {spellings(family.dtypes)}, "
                f"{self._dtype_origin} says {dtype.value}",
                whole_file=True,
            )
        if layout is None:
            raise StepError(
                "neither the lines nor the file name say the layout: pass --layout", whole_file=True
            )
        if dtype is None and family.needs_dtype:
            raise StepError(
                "neither the lines nor the file name say the data type: pass --dtype", whole_file=True
            )
        return ListReading(
            layout=layout,
            dtype=dtype,
            mma_k_table=self._mma_k_table,
        )

    def _stated_layout(self, family: ConfFamily) -> Layout | None:
        """Return the layout of lines that say none: what the request or the file name says."""
        stated: Layout | None = self.layout
        if stated is None or stated in family.layouts:
            return stated
        names = ", ".join(layout.name for layout in family.layouts)
        raise StepError(
            f"{family.title} lines have one of the layouts {names}, {self._layout_origin} says {stated.name}",
            whole_file=True,
        )

    def _line_layout(self, family: ConfFamily, values: dict[str, Any]) -> Layout | None:
        if family.layout:
            return self._only_layout(family)
        if family.layout_name_field:
            return _named_layout(family, values[family.layout_name_field])
        if not family.layout_fields:
            return None
        orders = [values[name] for name in family.layout_fields]
        layout = layout_of_tensors(orders[0], orders[1], orders[2])
        first = family.layout_fields[0]
        if layout is None:
            names = ", ".join(f"{each.input}/{each.weight}/{each.output}" for each in LAYOUTS)
            raise StepError(
                f"unknown layout {'/'.join(orders)} of input/weight/output (known: {names})",
                field=first,
            )
        if family.lax_ndim and self.named_stream_k and differ_in_depth(self.layout, layout):
            expected: ConvLayout = self.layout
            note = (
                f"{family.title} lines say {layout.name}, {self._layout_origin} says {expected.name}: "
                f"read as {expected.name}"
            )
            if note not in self.notes:
                self.notes.append(note)
            return expected
        if family.ndim_field and values[family.ndim_field] != layout.ndim:
            raise StepError(
                f"{values[family.ndim_field]} spatial dimensions do not fit layout {layout.name}, "
                f"which has {layout.ndim}",
                field=family.ndim_field,
            )
        return layout

    def _only_layout(self, family: ConfFamily) -> Layout | None:
        """Return the one layout of a family; file names are free to speak of other lines of the file."""
        asked = self.layout
        if self._layout_origin == _LAYOUT_OPTION and asked.name != family.layout:
            raise StepError(
                f"{family.title} lines have layout {family.layout}, --layout says {asked.name}",
                whole_file=True,
            )
        return next((layout for layout in family.layouts if layout.name == family.layout), None)


def _contradiction(what: str, origin: str, said: str, field: str) -> StepError:
    message = f"{what} contradicts {origin}, which says {said}"
    return StepError(message, field=field, whole_file=True)


def _named_layout(family: ConfFamily, name: str) -> Layout:
    for layout in family.layouts:
        if layout.name == name.lower():
            return layout
    names = ", ".join(layout.name.upper() for layout in family.layouts)
    raise StepError(f"unknown layout {name} (known: {names})", family.layout_name_field)


def _line_dtype(family: ConfFamily, values: dict[str, Any]) -> DataType | None:
    if not family.dtype_fields:
        return None
    first = family.dtype_fields[0]
    text = values[first]
    for name in family.dtype_fields[1:]:
        if values[name] != text:
            raise StepError(
                f"data types within a line must agree: {first} is {text}, {name} is {values[name]}",
                field=name,
            )
    dtype = {kind.spelled: kind for kind in family.dtypes}.get(text)
    if dtype is None:
        raise StepError(
            f"data type {text} is not supported: expected one of {spellings(family.dtypes)}",
            field=first,
        )
    return dtype


def differ_in_depth(first: ConvLayout, second: ConvLayout) -> bool:
    """Say whether one layout is the other with one spatial dimension more or less, and nothing else."""
    return first is not second and first.name.replace("d", "") == second.name.replace("d", "")
