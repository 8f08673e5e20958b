"""Reads what a list, or the output of a profiler, means to CK Builder."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import Diagnostic, ListError
from ckprof.model.parity import BuilderList, BuilderString
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings.rendering import StringError, render
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof.plugin import protocols
from ckprof_converters.builder.kernel import (
    RouteError,
    depthwise_kernel,
    gemm_kernel,
    in_layout,
    missing_fields,
    native_kernel,
)
from ckprof_converters.builder.texts import fields_of, kernel_texts
from ckprof_converters.collect import repeated
from ckprof_converters.compiled import LineError, LineProblem
from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.drop_rules import DropRule, dropped_by
from ckprof_converters.grammar import Grammar
from ckprof_converters.lines import looks_like_log
from ckprof_converters.properties import FileFacts, differ_in_depth
from ckprof_converters.records import DepthwiseRecord, GemmRecord
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.directions._convolution.layout import ConvLayout, layout_of_tensors
from ckprof_plugins.elementwise.operations import COMBINED_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.parity import PrintedLists
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.model.strings.kind import ParsedString, Revision, Spelling
    from ckprof.model.tensor import Layout
    from ckprof_converters.builder.kernel import BuilderKernel
    from ckprof_converters.builder.texts import NamedKernel

_NATIVE: Final = re.compile(r"GroupedConvolution\w+Kernel<")
_LIST: Final = re.compile(rb"^[ \t]*(?:\x1b\[[0-9;]*m)*(?:[A-Za-z_]\w*[ \t]*<|[0-9]+[ \t]*,)", re.MULTILINE)


class BuilderReader(protocols.BuilderReader):
    """Reads lists of the old library, native lines, and output of the old and the new profiler."""

    id: Final = "ck-builder"
    label: Final = "instance lists and profiler output, as CK Builder instantiates them"

    #: what plugins register for it
    family_type: Final = ConfFamily

    def __init__(self, families: Sequence[ConfFamily] = ()) -> None:
        self._lines = Grammar(families)

    def use_families(self, families: Sequence[ConfFamily]) -> None:
        """Take lines apart with these families from now on."""
        self._lines = Grammar(families)

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to lists and to output of a profiler."""
        return bool(_LIST.search(request.data)) or looks_like_log(request.data)

    def read(
        self, request: ConversionRequest, strings: StringGrammar, revision: Revision | None
    ) -> BuilderList:
        """Return the strings that CK Builder prints for the content.

        :param strings: the known kinds of strings.
        :param revision: the only one of CK that may have printed the content; ``None`` for every one, line by
            line. What is computed from lines is spelled as it prints, else as the default one does.
        :raises InputError: a line is wrong, as :class:`~ckprof.errors.ListError` with all
            of them.
        """
        return _BuilderReading(self._lines, request, strings, revision).run()

    def print_lists(
        self,
        tree: Path,
        direction: str,
        *,
        layouts: Sequence[str],
        dtypes: Sequence[str],
        lines: Sequence[str],
        compiler: str | None,
    ) -> PrintedLists:
        """Return what the Builder of a tree prints; see :mod:`ckprof_converters.reflection.program`."""
        from ckprof_converters.reflection.program import print_lists

        return print_lists(tree, direction, layouts=layouts, dtypes=dtypes, lines=lines, compiler=compiler)


class _BuilderReading:
    """The reading of one list."""

    def __init__(
        self, lines: Grammar, request: ConversionRequest, strings: StringGrammar, revision: Revision | None
    ) -> None:
        self._lines = lines
        self._request = request
        self._strings = strings
        self._revision = revision
        self._named = FileFacts(request, lines.layouts, lines.dtypes)
        self._layout: Layout | None = self._named.layout
        self._dtype: DataType | None = self._named.dtype
        #: lines that are instance strings
        self._printed: list[str] = []

    def run(self) -> BuilderList:
        kernels, notes = kernel_texts(self._request, self._strings.knows)
        if self._layout is None or self._dtype is None:
            self._take_facts_of_lines(kernels)
        strings: list[BuilderString] = []
        errors: dict[tuple[object, str], list[Diagnostic]] = {}
        for kernel in kernels:
            try:
                strings += self._strings_of(kernel)
            except LineError as error:
                for problem in error.problems:
                    diagnostic = Diagnostic(
                        path=self._request.path,
                        line=kernel.line,
                        column=kernel.column + problem.start,
                        message=problem.message,
                    )
                    location = "file" if problem.whole_file else (kernel.line, diagnostic.column)
                    errors.setdefault((location, problem.message), []).append(diagnostic)
        if self._request.lenient:
            notes += tuple(
                f"{each.line}:{each.column}: {each.message}: excluded"
                for same in errors.values()
                for each in same
            )
        elif errors:
            raise ListError([repeated(same[0], len(same) - 1) for same in errors.values()])
        return BuilderList(
            path=self._request.path,
            strings=tuple(strings),
            notes=notes,
            printed=tuple(self._printed),
        )

    def _take_facts_of_lines(self, kernels: Sequence[NamedKernel]) -> None:
        """Let lines that say layout and type speak for those that do not."""
        for kernel in kernels:
            try:
                family, fields = fields_of(kernel.text, self._lines)
            except LineError:
                continue
            if family.layout_fields and family.dtype_fields:
                orders = [fields[name] for name in family.layout_fields]
                dtypes = {dtype.spelled: dtype for dtype in family.dtypes}
                self._layout = self._layout or layout_of_tensors(orders[0], orders[1], orders[2])
                self._dtype = self._dtype or dtypes.get(fields[family.dtype_fields[0]])
                return

    def _strings_of(self, kernel: NamedKernel) -> Iterator[BuilderString]:
        if _NATIVE.match(kernel.text):
            yield self._native(kernel)
            return
        family, fields = fields_of(kernel.text, self._lines)
        if kernel.stated is not None:
            fields = {
                name: kernel.stated if text in COMBINED_OPERATIONS else text for name, text in fields.items()
            }
        self._check_direction(family.title, family.direction)
        if family.rejection:
            rejected = UnmetRequirement(
                rule=family.rejection_rule, message=f"{family.title}: {family.rejection}"
            )
            yield BuilderString(text=kernel.text, line=kernel.line, expected="", skipped=rejected)
            return
        if family.separator == "," and any(map(self._strings.knows, family.names)):
            if self._revision is not None:
                self._parsed(kernel.text)
            self._printed.append(kernel.text)
        if family.record_type not in (GemmRecord, DepthwiseRecord):
            # A plugin's own kernels: its list holds their strings.
            yield self._native(kernel, {"kernel": family.title, **fields})
            return
        if (unsaid := missing_fields(family.direction, fields)) and not family.index_ids:
            silent = dropped_by(
                DropRule.MISSING_INFORMATION,
                f"this short form does not print {', '.join(unsaid)}, which CK Builder needs",
            )
            yield BuilderString(text=kernel.text, line=kernel.line, expected="", skipped=silent)
            return
        for made in self._kernels(family, kernel.text, fields):
            string = self._string(kernel, made, {"kernel": family.title, **fields})
            yield replace(string, abridged=family.separator != "," and not family.nested)

    def _native(self, kernel: NamedKernel, origin: Mapping[str, str] | None = None) -> BuilderString:
        parsed = self._parsed(kernel.text)
        self._printed.append(kernel.text)
        kind = self._strings.kind(parsed.kind_id)
        self._check_direction(kind.title, kind.direction)
        values = dict(zip(kind.field_names, parsed.values, strict=True))
        if kind.spelling is not None:
            return self._respelled(kernel, kind.spelling, values, origin)
        if kind.name not in {native.name for native in string_kinds.KINDS}:
            return BuilderString(text=kernel.text, line=kernel.line, expected=kernel.text)
        made = native_kernel(kind, values)
        named = self._named.layout
        if self._named.named_stream_k and kind.name == string_kinds.BACKWARD_WEIGHT.name:
            layout = layout_of_tensors(*(str(values[f"layout_{x}"]) for x in ("input", "weight", "output")))
            if layout is not None and differ_in_depth(named, layout):
                made = in_layout(made, named)
        return self._string(kernel, made, None, text=kernel.text)

    def _respelled(
        self,
        kernel: NamedKernel,
        spelling: Spelling,
        values: Mapping[str, str | None],
        origin: Mapping[str, str] | None,
    ) -> BuilderString:
        """Return a line whose kernel prints another text."""
        try:
            expected, losses, skipped = spelling.generated(
                values,
                layout=self._layout.name if self._layout is not None else "",
                dtype=self._dtype.value if self._dtype is not None else "",
                mma_k_table=self._request.mma_k_table,
            )
        except StringError as error:
            raise LineError(LineProblem(error.message, error.start)) from None
        return BuilderString(
            text=kernel.text,
            line=kernel.line,
            expected=expected,
            losses=losses,
            origin=origin,
            skipped=skipped,
        )

    def _kernels(self, family: ConfFamily, text: str, fields: dict[str, str]) -> Iterator[BuilderKernel]:
        if family.index_ids:
            asked = self._request.dtype or self._dtype
            for dtype in (asked,) if asked else SHARED_TYPES:
                yield depthwise_kernel(fields, dtype.value)
            return
        try:
            yield gemm_kernel(
                family.direction,
                self._completed(family, fields),
                text.partition("<")[0],
                self._dtype_of(family, fields),
                self._request.mma_k_table,
                family.operand_tensors,
            )
        except RouteError as error:
            compiled, arguments = self._lines.split(text)
            place = compiled.start_of(arguments, error.field)
            raise LineError(LineProblem(error.message, place)) from None

    def _string(
        self, kernel: NamedKernel, made: BuilderKernel, origin: Mapping[str, str] | None, text: str = ""
    ) -> BuilderString:
        try:
            printed = text or render(made.kind, made.values, self._revision)
            expected = printed
            if made.changes:
                expected = render(made.kind, {**made.values, **made.changes}, self._revision)
        except StringError as error:
            raise LineError(LineProblem(error.message, 0)) from None
        return BuilderString(
            text=printed,
            line=kernel.line,
            expected=expected,
            losses=made.losses,
            origin=origin,
            skipped=made.skipped,
        )

    def _check_direction(self, title: str, direction: str) -> None:
        asked = self._request.direction
        if asked is not None and direction and direction != asked:
            raise LineError(LineProblem(f"{title} is of direction {direction}, expected {asked}", 0, True))

    def _parsed(self, text: str) -> ParsedString:
        try:
            return self._strings.parse(text, self._revision)
        except StringError as error:
            raise LineError(LineProblem(error.message, error.start)) from None

    def _completed(self, family: ConfFamily, fields: dict[str, str]) -> dict[str, str]:
        """Return the fields with layouts and dimensions, from the file name where the line is silent."""
        if family.layout_fields:
            return fields
        layout = self._layout
        if not isinstance(layout, ConvLayout):
            raise LineError(
                LineProblem("neither the line nor the file name say the layout: pass --layout", 0, True)
            )
        return {
            **fields,
            "ndim": str(layout.ndim),
            "layout_input": layout.input,
            "layout_weight": layout.weight,
            "layout_output": layout.output,
        }

    def _dtype_of(self, family: ConfFamily, fields: Mapping[str, str]) -> str:
        if family.dtype_fields:
            return fields[family.dtype_fields[0]]
        if self._dtype is None:
            raise LineError(
                LineProblem("neither the line nor the file name say the data type: pass --dtype", 0, True)
            )
        return self._dtype.value
