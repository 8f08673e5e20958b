"""Reading problem lines: ckProfiler's arguments, tile_engine's options, and sizes alone."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ckprof.errors import InputError
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.operations.gemm.line_forms import BASE_ARGUMENTS, FORMS, LAYOUTS, LineForm
from ckprof_plugins.operations.gemm.problem import (
    GemmProblem,
    MultiDProblem,
    StridedBatchProblem,
    check_d_tensors,
    elementwise_op_named,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.model.problem_case import ProblemLine, Token

T = TypeVar("T")
U = TypeVar("U")

#: first words of lines that are for this operation
LINE_WORDS: Final = tuple(FORMS)

_PRODUCT: Final = re.compile(r"\d+([x,])\d+\1\d+")
_OPTION: Final = re.compile(r"-(\w+)=(.*)", re.DOTALL)

_EXPECTED: Final = (
    f"gemm {' '.join(BASE_ARGUMENTS)}, gemm_universal with a final KBatch, M N K [StrideA StrideB StrideC], "
    "MxNxK, M,N,K, or -m=M -n=N -k=K"
)

#: strides of ckProfiler's lines -> field of the problem
_STRIDE_FIELDS: Final = {
    "StrideA": "stride_a",
    "StrideB": "stride_b",
    "StrideC": "stride_e",
    "StrideE": "stride_e",
    "BatchStrideA": "batch_stride_a",
    "BatchStrideB": "batch_stride_b",
    "BatchStrideC": "batch_stride_e",
}

#: tile_engine's options -> field of the problem
_SIZES: Final = ("m", "n", "k")
_STRIDES: Final = {
    "stride_a": "stride_a",
    "stride_b": "stride_b",
    "stride_c": "stride_e",
    "stride_e": "stride_e",
    "stride_ds": "stride_ds",
    # further options, in its spelling
    **{f"batch_stride_{name}": f"batch_stride_{field}" for name, field in zip("abce", "abee", strict=True)},
}
#: all that change the problem; how many products there are, and what they are combined with, are further ones
_OPTIONS: Final = (*_SIZES, *_STRIDES, "split_k", "batch", "elementwise_op", "num_d_tensors")
#: tile_engine's options that do not change the problem
_IGNORED: Final = frozenset(
    {
        *("verify", "log", "warmup", "repeat", "timer", "init", "flush_cache", "rotating_count"),
        *("metric", "csv_filename", "structured_sparsity", "json_output"),
    }
)


def names_sizes(word: str) -> bool:
    """Say whether a line that begins with this word gives sizes as options, or as one product."""
    return _OPTION.fullmatch(word) is not None or _PRODUCT.fullmatch(word) is not None


def parse_line(line: ProblemLine) -> ProblemCase:
    """Parse a line in whichever form it has.

    :raises InputError: a value is no integer, one is missing or too many, or a number has no meaning.
    """
    tokens = line.tokens()
    if tokens and PurePosixPath(tokens[0].text).name.removesuffix(".exe") == "ckProfiler":
        tokens = tokens[1:]
    if not tokens:
        raise line.error(f"the problem is empty; expected {_EXPECTED}")
    first = tokens[0]
    if first.text in FORMS:
        return _Arguments(line, tokens, FORMS[first.text]).parse()
    if _OPTION.fullmatch(first.text):
        return _of_options(line, tokens)
    if len(tokens) == 1 and _PRODUCT.fullmatch(first.text):
        return ProblemCase(problem=_of_product(line, first))
    if not first.text.lstrip("+-").isdecimal():
        raise line.error(f"expected {_EXPECTED}, got {first.text!r}", first.column)
    return ProblemCase(problem=_of_sizes(line, tokens))


class _Arguments:
    """ckProfiler's arguments for one operation.

    :param tokens: the operation's word and what follows.
    """

    def __init__(self, line: ProblemLine, tokens: Sequence[Token], form: LineForm) -> None:
        self._line = line
        self._form = form
        self._given = tokens[1:]
        self._values: Mapping[str, Token] = dict(
            zip((*form.required, *form.optional), self._given, strict=False)
        )

    def parse(self) -> ProblemCase:
        """Return what they say.

        :raises InputError: they are wrong.
        """
        self._check_count()
        numbers = {name: self._line.integer(token, name) for name, token in self._values.items()}
        dtype = self._form.dtypes.get(numbers["dtype"])
        if dtype is None:
            dtypes = ", ".join(f"{number} {type_.value}" for number, type_ in self._form.dtypes.items())
            raise self._wrong("dtype", "data type", dtypes, self._form.unsupported.get(numbers["dtype"], ""))
        layout = LAYOUTS.get(numbers["layout"])
        if layout is None:
            layouts = ", ".join(f"{number} {name}" for number, name in LAYOUTS.items())
            raise self._wrong("layout", "layout", layouts)
        if self._form.refused:
            raise self._line.error(f"{self._form.word}: {self._form.refused}")
        problem = self._problem(numbers)
        return ProblemCase(
            problem=problem,
            dtype=dtype,
            layout=layout,
            splits=self._splits(numbers),
            ignored=tuple(
                f"{name} {token.text}" for name, token in self._values.items() if name in self._form.ignored
            ),
            notes=self._notes(problem),
        )

    def _check_count(self) -> None:
        form, count = self._form, len(self._given)
        if count < len(form.required):
            raise self._line.error(
                f"{form.required[count]} (argument {count + 1}) is missing; form: {form.text}"
            )
        names = (*form.required, *form.optional)
        if count > len(names):
            extra = self._given[len(names)]
            raise self._line.error(f"unexpected {extra.text!r}; form: {form.text}", extra.column)
        if count not in form.counts:
            raise self._line.error(f"{names[count]} (argument {count + 1}) is missing; form: {form.text}")

    def _wrong(self, name: str, what: str, supported: str, why: str = "") -> InputError:
        token = self._values[name]
        because = f" ({why})" if why else ""
        return self._line.error(
            f"{what} {token.text} is not supported for {self._form.word}{because} (known: {supported})",
            token.column,
        )

    def _problem(self, numbers: Mapping[str, int]) -> GemmProblem:
        strides = {
            field: self._stride(name, numbers[name])
            for name, field in _STRIDE_FIELDS.items()
            if name in numbers
        }
        fields: dict[str, Any] = {"m": numbers["M"], "n": numbers["N"], "k": numbers["K"]}
        if "BatchCount" in numbers:
            fields["batch"] = numbers["BatchCount"]
        if self._form.elementwise_op is not None:
            of_d = (name for name in numbers if name.startswith("StrideD"))
            fields["elementwise_op"] = self._form.elementwise_op
            fields["strides_d"] = tuple(self._stride(name, numbers[name]) for name in of_d)
        return _problem(self._line, **fields, **strides)

    def _stride(self, name: str, value: int) -> int:
        if value == 0:
            raise self._line.error(
                f"{name} is 0, which ckProfiler takes literally: all {_of_stride(name)} would be the same; "
                "-1 packs them",
                self._values[name].column,
            )
        return max(value, 0)

    def _splits(self, numbers: Mapping[str, int]) -> tuple[int, ...]:
        if "KBatch" not in numbers:
            return ()
        splits = numbers["KBatch"]
        return (splits,) if splits > 0 else self._form.all_splits

    def _notes(self, problem: GemmProblem) -> tuple[str, ...]:
        if self._form.swaps and problem.n % 8 and not problem.m % 8:
            return (
                "ckProfiler would exchange M with N and StrideA with StrideB, as only M is a multiple of 8: "
                "the problem is run as it is written",
            )
        return ()


def _of_options(line: ProblemLine, tokens: Sequence[Token]) -> ProblemCase:
    """Parse tile_engine's options, where a stride of 0 packs the lines."""
    fields: dict[str, Any] = {}
    splits: tuple[int, ...] = ()
    ignored: list[str] = []
    for token in tokens:
        option = _OPTION.fullmatch(token.text)
        name = option[1] if option else ""
        if option is None or name not in {*_OPTIONS, *_IGNORED}:
            options = ", ".join(f"-{name}" for name in _OPTIONS)
            raise line.error(f"unknown option {token.text!r} (known: {options})", token.column)
        if name in _IGNORED:
            ignored.append(f"{name} {option[2]}")
            continue
        if name == "elementwise_op":
            fields[name] = _read(line, token.column, elementwise_op_named, option[2])
            continue
        value = line.integer(type(token)(text=option[2], column=token.column), f"-{name}")
        if name == "split_k":
            if value < 1:
                raise line.error(f"-split_k is {value}, expected 1 or more", token.column)
            splits = (value,)
        elif name in _STRIDES:
            if value < 0:
                raise line.error(f"-{name} is {value}, expected 0 or more", token.column)
            fields[_STRIDES[name]] = value
        elif name == "num_d_tensors":
            fields[name] = _read(line, token.column, check_d_tensors, value)
        else:
            fields[name] = value
    missing = [f"-{name}" for name in _SIZES if name not in fields]
    if missing:
        raise line.error(f"{', '.join(missing)} is missing; expected {_EXPECTED}")
    if "stride_ds" in fields and "elementwise_op" not in fields:
        ignored.append(f"stride_ds {fields.pop('stride_ds')}")
    problem = _problem(line, **_with_d(line, fields))
    return ProblemCase(problem=problem, splits=splits, ignored=tuple(ignored))


def _with_d(line: ProblemLine, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a problem, with a stride for each D tensor where there are any."""
    given = dict(fields)
    stride, count = given.pop("stride_ds", 0), given.pop("num_d_tensors", 1)
    if "elementwise_op" in given:
        return {**given, "strides_d": (stride,) * count}
    if "num_d_tensors" in fields:
        raise line.error("D tensors need -elementwise_op, which says how they are combined with the product")
    return given


def _read(line: ProblemLine, column: int, read: Callable[[T], U], value: T) -> U:
    with line.at(column):
        return read(value)


def _of_product(line: ProblemLine, token: Token) -> GemmProblem:
    m, n, k = (int(text) for text in re.split("[x,]", token.text))
    return _problem(line, m=m, n=n, k=k)


def _of_sizes(line: ProblemLine, tokens: Sequence[Token]) -> GemmProblem:
    """Parse ``M N K [StrideA StrideB StrideC]``, where a negative stride packs the lines."""
    names = ("M", "N", "K", "StrideA", "StrideB", "StrideC")
    if [token.text for token in tokens[1::2]] == ["x", "x"]:
        tokens = tokens[::2]
    if len(tokens) > len(names):
        extra = tokens[len(names)]
        raise line.error(f"unexpected {extra.text!r}; expected {_EXPECTED}", extra.column)
    if len(tokens) not in (3, 6):
        raise line.error(f"{names[len(tokens)]} (number {len(tokens) + 1}) is missing; expected {_EXPECTED}")
    numbers = [line.integer(token, name) for name, token in zip(names, tokens, strict=False)]
    for token, name, value in zip(tokens[3:], names[3:], numbers[3:], strict=False):
        if value == 0:
            raise line.error(f"{name} is 0: all lines would be the same; -1 packs them", token.column)
    a, b, e = (max(value, 0) for value in (*numbers, 0, 0, 0)[3:6])
    return _problem(line, m=numbers[0], n=numbers[1], k=numbers[2], stride_a=a, stride_b=b, stride_e=e)


def _of_stride(name: str) -> str:
    return "matrices" if name.startswith("Batch") else "lines"


def _problem(line: ProblemLine, **fields: Any) -> GemmProblem:
    """Return the problem of the type that has these fields.

    Batches that are packed are the same whether that is said or not, and one product is no batch.
    """
    apart = {name: value for name, value in fields.items() if name.startswith("batch_stride")}
    if not any(apart.values()) or fields.get("batch", 1) == 1:
        fields = {name: value for name, value in fields.items() if name not in apart}
        apart = {}
    if apart and "elementwise_op" in fields:
        raise line.error("batches of products that are combined with D tensors are an unsupported family")
    kind = MultiDProblem if "elementwise_op" in fields else StridedBatchProblem if apart else GemmProblem
    with line.at():
        return kind(**fields)
