"""MIOpenDriver's ``conv`` command lines, also as MIOpen's logs print them: flags, defaults, meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from ckprof.model.problem_case import ProblemCase
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.miopen_fusion import (
    BIAS,
    DEFAULT_BATCH,
    FUSION_BASES,
    fused,
    number_of,
    read_number,
)
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.elementwise.combination import Combination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.problem_case import ProblemLine, Token
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.direction import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A flag with an integer that says what is computed."""

    short: str
    long: str
    #: the driver's own
    default: int


#: What is computed. Flags of spatial axes are listed D, H, W.
SIZES: Final = {
    "batch": (Flag(short="-n", long="--batchsize", default=100),),
    "in_channels": (Flag(short="-c", long="--in_channels", default=3),),
    "out_channels": (Flag(short="-k", long="--out_channels", default=32),),
    "groups": (Flag(short="-g", long="--group_count", default=1),),
    "forw": (Flag(short="-F", long="--forw", default=0),),
    "spatial_dim": (Flag(short="-_", long="--spatial_dim", default=2),),
    "input": (
        Flag(short="-!", long="--in_d", default=32),
        Flag(short="-H", long="--in_h", default=32),
        Flag(short="-W", long="--in_w", default=32),
    ),
    "filter": (
        Flag(short="-@", long="--fil_d", default=3),
        Flag(short="-y", long="--fil_h", default=3),
        Flag(short="-x", long="--fil_w", default=3),
    ),
    "strides": (
        Flag(short="-#", long="--conv_stride_d", default=1),
        Flag(short="-u", long="--conv_stride_h", default=1),
        Flag(short="-v", long="--conv_stride_w", default=1),
    ),
    "pads": (
        Flag(short="-$", long="--pad_d", default=0),
        Flag(short="-p", long="--pad_h", default=0),
        Flag(short="-q", long="--pad_w", default=0),
    ),
    "dilations": (
        Flag(short="-^", long="--dilation_d", default=1),
        Flag(short="-l", long="--dilation_h", default=1),
        Flag(short="-j", long="--dilation_w", default=1),
    ),
    "output_pads": (
        Flag(short="-%", long="--trans_output_pad_d", default=0),
        Flag(short="-Y", long="--trans_output_pad_h", default=0),
        Flag(short="-X", long="--trans_output_pad_w", default=0),
    ),
}

#: those with a flag for each axis
_PER_AXIS: Final = tuple((name, flags) for name, flags in SIZES.items() if len(flags) == 3)

#: those whose default is no size that anyone means who does not say it
_SAID: Final = ("batch", "in_channels", "out_channels", "input", "filter")

#: short and long name -> flag
INTEGER_FLAGS: Final = {
    name: flag for flags in SIZES.values() for flag in flags for name in (flag.short, flag.long)
}


def _named(*rows: tuple[str, str, str]) -> dict[str, str]:
    return {name: value for short, long, value in rows for name in (short, long)}


#: Flags whose value must be this one: anything else is another computation.
FIXED: Final = _named(("-r", "--pad_val", "0"), ("-Z", "--tensor_vect", "0"))

#: Flags that choose between computations, and the values that are known.
CHOICES: Final = {
    **dict.fromkeys(("-m", "--mode"), ("conv", "trans")),
    **dict.fromkeys(("-b", "--bias"), ("0", "1")),
}

#: How pads are meant.
PAD_MODE_FLAGS: Final = ("-z", "--pad_mode")
#: explicit pads; ``conv`` is how some scripts spell it
EXPLICIT_PADS: Final = frozenset({"default", "conv"})
SAME_PADS: Final = "same"
NO_PADS: Final = "valid"

#: Flags that say the memory order of a tensor.
LAYOUT_FLAGS: Final = ("-I", "--in_layout", "-f", "--fil_layout", "-O", "--out_layout")

#: the driver's memory orders of input and output -> layout of catalogs; groups lie inside the channels
LAYOUTS: Final = {
    "NWC": "nwgc",
    "NHWC": "nhwgc",
    "NDHWC": "ndhwgc",
    "NCW": "ngcw",
    "NCHW": "ngchw",
    "NCDHW": "ngcdhw",
}

#: bit of ``-F``: forward; and the bits that transposing exchanges
FORWARD_FLAG: Final = 1
_TRANSPOSED: Final = {1: 2, 2: 1}

#: Flags with a value that do not change what is computed; reported as ignored.
IGNORED: Final = frozenset(
    "-i --iter -V --verify -C --verification_cache -t --time -w --wall -s --search -P --printconv "
    "-o --dump_output -d --in_data -e --weights -a --in_bias -D --dout_data -S --solution -G --gpualloc "
    "-L --vector_length -U --wei_cast_type -T --in_cast_type -R --out_cast_type --gpubuffer_check "
    "-A --dump_tensors".split()
)

#: Base argument -> the type that it names. Plain ``conv`` is also what people write without thinking of a
#: type: it names none, though the driver takes :data:`USUAL_DTYPE` then.
BASES: Final[dict[str, DataType | None]] = {
    "conv": None,
    "convfp16": DataType.FP16,
    "convbfp16": DataType.BF16,
    "convint8": DataType.INT8,
    "convfp8": DataType.FP8,
    "convbfp8": DataType.BF8,
}
USUAL_DTYPE: Final = DataType.FP32

#: what directions know that have fusions
_BASES_AND_FUSIONS: Final = {**BASES, **FUSION_BASES}

#: What a correct line looks like, for messages.
FORM: Final = (
    "conv -n N -c C -H H -W W -k K -y Y -x X -p PAD_H -q PAD_W "
    "-u STRIDE_H -v STRIDE_W -l DIL_H -j DIL_W -g GROUPS -F 1"
)

#: the program, with any folder in front
_PROGRAM: Final = re.compile(r"(?:.*[/\\])?MIOpenDriver(?:\.exe)?:?")


@dataclass(slots=True, kw_only=True)
class _Given:
    """What a line says."""

    #: short flag -> value and its token
    numbers: dict[str, tuple[int, Token]] = field(default_factory=dict)
    pad_mode: str = "default"
    #: the convolution is transposed
    transposed: bool = False
    #: a bias is added to the results
    biased: bool = False
    #: memory orders of input and output, with the token of the first
    layouts: dict[str, Token] = field(default_factory=dict)
    #: memory order of the filter -> flag and value as written
    filters: dict[str, str] = field(default_factory=dict)
    #: of a fusion, see :mod:`.miopen_fusion`; ``None`` for a convolution alone
    fusion: dict[str, float] | None = None
    ignored: list[str] = field(default_factory=list)


def looks_like_miopen(line: ProblemLine) -> bool:
    """Say whether a line calls MIOpenDriver, with or without the program's name, or is a log line of it."""
    tokens = line.tokens()
    return bool(tokens and tokens[0].text in _BASES_AND_FUSIONS) or _program(line) is not None


def parse_miopen(line: ProblemLine, direction: Direction) -> ProblemCase:
    """Parse ``[... .../MIOpenDriver] conv -n ... -F 1``. ``-c`` and ``-k`` count the channels of all groups.

    What is not given has the driver's own default. In the pad mode ``same`` the output has
    ``ceil(input / stride)`` elements along each axis; an odd pad is larger at the end.

    ``-m trans`` transposes a convolution: what the driver calls forward is the backward-data pass of a
    convolution from ``-k`` to ``-c`` channels whose output is the line's input, and the other way round.

    :raises InputError: a flag is unknown, lacks its value, or asks for something that is not computed here.
    :raises OtherOperationError: it asks for another direction.
    """
    tokens = line.tokens()
    program = _program(line)
    if program is not None:
        tokens = tokens[program + 1 :]
    bases = _BASES_AND_FUSIONS if direction.has_fusions else BASES
    if not tokens or tokens[0].text not in bases:
        if tokens and tokens[0].text in FUSION_BASES:
            raise line.other_operation(
                f"{tokens[0].text} asks for a forward convolution, not for {direction.id}", tokens[0].column
            )
        column = tokens[0].column if tokens else None
        raise line.error(f"expected one of {', '.join(bases)} after MIOpenDriver; form: {FORM}", column)
    is_fusion = tokens[0].text in FUSION_BASES
    given = _read_flags(line, tokens[0].column, is_fusion)
    _check_direction(line, given, direction)
    problem: Convolution = _problem(line, given)
    base = bases[tokens[0].text]
    combination = _combination(line, given, direction)
    if isinstance(combination, Combination):
        problem = FusedConvProblem.of(problem, combination)
    named = is_fusion or given.biased or _value(given, SIZES["forw"][0])
    return ProblemCase(
        problem=problem,
        direction=direction.id if named else None,
        unsupported=combination if isinstance(combination, str) else "",
        dtype=base,
        usual_dtype=USUAL_DTYPE if base is None else None,
        layout=_layout(line, given),
        # a filter in the order of the input is what layouts of that name have
        ignored=(
            *given.ignored,
            *(text for name, text in given.filters.items() if name not in given.layouts),
        ),
        notes=tuple(_notes(given, problem.ndim, direction, base)),
    )


def _combination(line: ProblemLine, given: _Given, direction: Direction) -> Combination | str | None:
    """Return what the line asks for beside the convolution, or why no kernel computes it."""
    if given.fusion is not None:
        return fused(line, given.fusion)
    if not given.biased or _flag_of(given, direction) != FORWARD_FLAG:
        # the gradient of a bias has a kernel of its own
        return None
    if not direction.has_fusions:
        return "it asks for a bias behind a transposed convolution, which no kernel has"
    return fused(line, BIAS)


def _notes(given: _Given, ndim: int, direction: Direction, dtype: DataType | None) -> Iterator[str]:
    """Yield what the line does not say of its problem."""
    flags = (flag for name in _SAID for flag in SIZES[name][-ndim:])
    defaults = [
        f"{flag.short} {_batch(given) if flag.short == '-n' else flag.default}"
        for flag in flags
        if flag.short not in given.numbers
    ]
    if defaults:
        yield f"MIOpenDriver's defaults are used for what the line does not say: {', '.join(defaults)}"
    if given.transposed:
        yield f"-m trans is computed as {direction.id} of the convolution that is transposed"
    if dtype is DataType.INT8:
        yield "MIOpenDriver's convint8 has results of int32, the usual kernels of int8 those of int8"


@lru_cache(maxsize=4)
def _program(line: ProblemLine) -> int | None:
    """Return the position of the program's name in front of a convolution; every direction asks for it."""
    tokens = line.tokens()
    for position, token in enumerate(tokens):
        if "MIOpenDriver" in token.text and _PROGRAM.fullmatch(token.text):
            following = tokens[position + 1 : position + 2]
            # a log line may name the program in its prefix as well
            if position == 0 or (following and following[0].text.startswith(("conv", *FUSION_BASES))):
                return position
    return None


def _value(given: _Given, flag: Flag) -> int:
    return given.numbers[flag.short][0] if flag.short in given.numbers else flag.default


def _batch(given: _Given) -> int:
    flag = SIZES["batch"][0]
    is_default = given.fusion is not None and flag.short not in given.numbers
    return DEFAULT_BATCH if is_default else _value(given, flag)


def _flag_of(given: _Given, direction: Direction) -> int:
    """Return the bit of ``-F`` that asks for a direction: transposing exchanges two of them."""
    flag = direction.miopen_flag
    return _TRANSPOSED.get(flag, flag) if given.transposed else flag


def _check_direction(line: ProblemLine, given: _Given, direction: Direction) -> None:
    forw, flag = _value(given, SIZES["forw"][0]), _flag_of(given, direction)
    if forw and not forw & flag:
        from ckprof_plugins.directions import shipped_directions

        mode = " of -m trans" if given.transposed else ""
        asked = next((one.id for one in shipped_directions() if forw & _flag_of(given, one)), "")
        hint = f"; 'ckprof run {asked}' runs it" if asked else ""
        raise line.other_operation(
            f"-F {forw}{mode} does not ask for {direction.id} (that is {flag}; 0 asks for all){hint}",
            given.numbers["-F"][1].column,
        )


def _problem(line: ProblemLine, given: _Given) -> ConvProblem:
    ndim = _value(given, SIZES["spatial_dim"][0])
    if ndim not in (1, 2, 3):
        raise line.error(f"spatial_dim must be 1, 2 or 3, not {ndim}", given.numbers["-_"][1].column)

    said = {short: value for short, (value, _) in given.numbers.items()}
    # what is said of further axes has no meaning: MIOpen's own lists say in_d of 2D problems
    axes = {
        name: tuple([said.get(flag.short, flag.default) for flag in flags[3 - ndim :]])
        for name, flags in _PER_AXIS
    }
    groups = _value(given, SIZES["groups"][0])
    channels = {}
    for name in ("in_channels", "out_channels"):
        flag = SIZES[name][0]
        total = _value(given, flag)
        if groups < 1 or total % groups:
            at = given.numbers.get(flag.short) or given.numbers.get("-g")
            raise line.error(
                f"{flag.short} {total} ({name} of all groups) is not a multiple of -g {groups}",
                at[1].column if at else None,
            )
        channels[name] = total // groups
    left, right = _pads(given, axes["pads"], axes["input"], axes["filter"], axes["strides"])
    lengths = axes["input"]
    if given.transposed:
        channels = dict(zip(channels, reversed(channels.values()), strict=True))
        lengths = _transposed(line, given, *(axes[name] for name in (*_LENGTHS, "output_pads")))
    elif any(axes["output_pads"]):
        raise line.error("pads of the output, -% -Y -X, go with -m trans")
    with line.at():
        return ConvProblem(
            groups=groups,
            batch=_batch(given),
            **channels,
            filter=axes["filter"],
            input=lengths,
            strides=axes["strides"],
            dilations=axes["dilations"],
            left_pads=left,
            right_pads=right,
        )


#: what the lengths of an output depend on
_LENGTHS: Final = ("input", "filter", "strides", "dilations", "pads")


def _transposed(line: ProblemLine, given: _Given, *sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths of a transposed convolution's output.

    They are ``stride (input - 1) + dilation (filter - 1) + 1 - 2 pad + output pad``; further elements than
    the stride allows are of no convolution with that input as its output.

    :param sizes: those of :data:`_LENGTHS` and the output's pads, with a value for each axis.
    """
    lengths = []
    for axis in zip(*sizes, strict=True):
        length, size, stride, dilation, pad, more = axis
        if not 0 <= more < max(stride, 1):
            raise line.error(f"an output pad of -m trans is {more}, expected less than the stride, {stride}")
        lengths.append(stride * (length - 1) + dilation * (size - 1) + 1 - 2 * pad + more)
    return tuple(lengths)


def _pads(
    given: _Given,
    explicit: tuple[int, ...],
    lengths: tuple[int, ...],
    filters: tuple[int, ...],
    strides: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return left and right pads in the line's pad mode, which transposed convolutions do not have."""
    if given.transposed:
        return explicit, explicit
    if given.pad_mode == NO_PADS:
        zeros = (0,) * len(explicit)
        return zeros, zeros
    if given.pad_mode == SAME_PADS:
        total = tuple(
            max(size - ((length % stride) or stride), 0) if stride > 0 else 0
            for length, size, stride in zip(lengths, filters, strides, strict=True)
        )
        left = tuple(pad // 2 for pad in total)
        return left, tuple(pad - half for pad, half in zip(total, left, strict=True))
    return explicit, explicit


def _layout(line: ProblemLine, given: _Given) -> str | None:
    """Return the layout that input and output agree on; ``None`` if the line names none.

    :raises InputError: they contradict each other, or no such order is known.
    """
    names = {}
    for text, token in given.layouts.items():
        if text not in LAYOUTS:
            raise line.error(f"unknown layout {text} (known: {', '.join(LAYOUTS)})", token.column)
        names[LAYOUTS[text]] = token
    if len(names) > 1:
        said = " and ".join(given.layouts)
        raise line.error(f"input and output have different layouts: {said}", list(names.values())[1].column)
    return next(iter(names), None)


@lru_cache(maxsize=4)
def _read_flags(line: ProblemLine, base: int, is_fusion: bool) -> _Given:
    """Return what a line says behind the column of its base argument; every direction asks for it."""
    given = _Given(fusion={} if is_fusion else None)
    tokens = [token for token in line.tokens() if token.column > base]
    for flag, value in zip_longest(tokens[::2], tokens[1::2]):
        size = INTEGER_FLAGS.get(flag.text)
        if size is not None and value is not None and size.short not in given.numbers:
            number = _known_integer(value.text)
            given.numbers[size.short] = (
                line.integer(value, flag.text) if number is None else number,
                value,
            )
            continue
        if flag.text not in _KNOWN and (given.fusion is None or number_of(flag.text) is None):
            raise line.error(f"unknown MIOpenDriver flag {flag.text!r}; form: {FORM}", flag.column)
        if value is None:
            raise line.error(f"{flag.text} needs a value; form: {FORM}", flag.column)
        if size is not None:
            raise line.error(f"{flag.text} is given twice", flag.column)
        _read_flag(line, given, flag, value)
    return given


@lru_cache(maxsize=4096)
def _known_integer(text: str) -> int | None:
    """Return the value of digits, which logs repeat; ``None`` for what may be something else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


_KNOWN: Final = frozenset({*INTEGER_FLAGS, *FIXED, *CHOICES, *IGNORED, *PAD_MODE_FLAGS, *LAYOUT_FLAGS})


def _read_flag(line: ProblemLine, given: _Given, flag: Token, value: Token) -> None:
    number = number_of(flag.text) if given.fusion is not None else None
    if given.fusion is not None and number is not None:
        given.fusion[number] = read_number(line, number, value)
    elif flag.text in FIXED:
        if value.text != FIXED[flag.text]:
            raise line.error(
                f"{flag.text} {value.text} is not supported, only {FIXED[flag.text]}", value.column
            )
    elif flag.text in CHOICES:
        if value.text not in CHOICES[flag.text]:
            known = " and ".join(CHOICES[flag.text])
            raise line.error(f"{flag.text} {value.text} is not supported, only {known}", value.column)
        given.transposed |= value.text == "trans"
        given.biased |= value.text == "1"
    elif flag.text in PAD_MODE_FLAGS:
        mode = value.text.lower()
        if mode not in {*EXPLICIT_PADS, SAME_PADS, NO_PADS}:
            raise line.error(
                f"{flag.text} {value.text} is not supported, only default, {SAME_PADS} and {NO_PADS}",
                value.column,
            )
        given.pad_mode = mode
    elif flag.text in LAYOUT_FLAGS:
        if flag.text not in LAYOUT_FLAGS[2:4]:
            given.layouts.setdefault(value.text.upper(), value)
        else:
            given.filters[value.text.upper()] = f"{flag.text} {value.text}"
    else:
        given.ignored.append(f"{flag.text} {value.text}")
