"""MIOpenDriver's ``conv`` command lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.dtype import DataType
from ckprof.model.problem import ConvProblem
from ckprof.problems.tokens import ParsedProblem

if TYPE_CHECKING:
    from ckprof.plugin.protocols import Direction
    from ckprof.problems.tokens import ProblemLine, Token

#: What a correct line looks like, for messages.
FORM: Final = (
    "conv -n N -c C -H H -W W -k K -y Y -x X -p PAD_H -q PAD_W "
    "-u STRIDE_H -v STRIDE_W -l DIL_H -j DIL_W -g GROUPS -F 1"
)

#: Base arguments and the type they name. Plain ``conv`` is also what people write without thinking of a type.
BASES: Final[dict[str, DataType | None]] = {
    "conv": None,
    "convfp16": DataType.FP16,
    "convbfp16": DataType.BF16,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flag:
    short: str
    long: str
    #: ``None``: must be given
    default: int | None = None


#: Flags with an integer that say what is computed. Per-axis flags are listed D, H, W.
_SIZES: Final = {
    "batch": (_Flag(short="-n", long="--batchsize"),),
    "in_channels": (_Flag(short="-c", long="--in_channels"),),
    "out_channels": (_Flag(short="-k", long="--out_channels"),),
    "groups": (_Flag(short="-g", long="--group_count", default=1),),
    "forw": (_Flag(short="-F", long="--forw", default=0),),
    "spatial_dim": (_Flag(short="-_", long="--spatial_dim", default=2),),
    "input": (
        _Flag(short="-!", long="--in_d"),
        _Flag(short="-H", long="--in_h"),
        _Flag(short="-W", long="--in_w"),
    ),
    "filter": (
        _Flag(short="-@", long="--fil_d"),
        _Flag(short="-y", long="--fil_h"),
        _Flag(short="-x", long="--fil_w"),
    ),
    "strides": (
        _Flag(short="-#", long="--conv_stride_d", default=1),
        _Flag(short="-u", long="--conv_stride_h", default=1),
        _Flag(short="-v", long="--conv_stride_w", default=1),
    ),
    "pads": (
        _Flag(short="-$", long="--pad_d", default=0),
        _Flag(short="-p", long="--pad_h", default=0),
        _Flag(short="-q", long="--pad_w", default=0),
    ),
    "dilations": (
        _Flag(short="-^", long="--dilation_d", default=1),
        _Flag(short="-l", long="--dilation_h", default=1),
        _Flag(short="-j", long="--dilation_w", default=1),
    ),
}

#: Flags whose value must be this one: anything else is another computation.
_FIXED: Final = {
    "-m": "conv",
    "--mode": "conv",
    "-z": "conv",
    "--pad_mode": "conv",
    "-b": "0",
    "--bias": "0",
}

#: Flags with a value that do not change what is computed; reported as ignored.
_IGNORED: Final = frozenset(
    "-I --in_layout -f --fil_layout -O --out_layout -i --iter -V --verify -C --verification_cache -t --time "
    "-w --wall -s --search -P --printconv -o --dump_output -d --in_data -e --weights -a --in_bias "
    "-D --dout_data -S --solution -G --gpualloc".split()
)

_INTEGER_FLAGS: Final = {
    name: flag for flags in _SIZES.values() for flag in flags for name in (flag.short, flag.long)
}


def looks_like_miopen(tokens: list[Token]) -> bool:
    """Say whether the line calls MIOpenDriver, with or without the program's name."""
    return any(token.text in BASES or token.text.endswith("MIOpenDriver") for token in tokens[:2])


def parse_miopen(line: ProblemLine, direction: Direction) -> ParsedProblem:
    """Parse ``[.../MIOpenDriver] conv -n ... -F 1``. ``-c`` and ``-k`` count the channels of all groups.

    :raises InputError: a flag is unknown, lacks its value, is missing, or asks for another direction.
    """
    tokens = line.tokens()
    if tokens[0].text.endswith("MIOpenDriver"):
        tokens = tokens[1:]
    if not tokens or tokens[0].text not in BASES:
        raise line.error(f"expected one of {', '.join(BASES)} after MIOpenDriver; form: {FORM}")
    given, ignored = _read_flags(line, tokens[1:])

    def value(flag: _Flag) -> int:
        if flag.short in given:
            return given[flag.short][0]
        if flag.default is None:
            raise line.error(f"{flag.short} ({flag.long[2:]}) is missing; form: {FORM}")
        return flag.default

    forw = value(_SIZES["forw"][0])
    if forw and not forw & direction.miopen_flag:
        raise line.error(
            f"-F {forw} does not ask for {direction.id} (that is {direction.miopen_flag}; 0 asks for all)",
            given["-F"][1].column,
        )
    ndim = value(_SIZES["spatial_dim"][0])
    if ndim not in (1, 2, 3):
        raise line.error(f"spatial_dim must be 1, 2 or 3, not {ndim}", given["-_"][1].column)

    def axes(name: str) -> tuple[int, ...]:
        return tuple(value(flag) for flag in _SIZES[name][3 - ndim :])

    groups = value(_SIZES["groups"][0])
    channels = {}
    for name in ("in_channels", "out_channels"):
        flag = _SIZES[name][0]
        total = value(flag)
        if groups < 1 or total % groups:
            raise line.error(
                f"{flag.short} {total} ({name} of all groups) is not a multiple of -g {groups}",
                given[flag.short][1].column,
            )
        channels[name] = total // groups
    try:
        problem = ConvProblem(
            groups=groups,
            batch=value(_SIZES["batch"][0]),
            in_channels=channels["in_channels"],
            out_channels=channels["out_channels"],
            filter=axes("filter"),
            input=axes("input"),
            strides=axes("strides"),
            dilations=axes("dilations"),
            left_pads=axes("pads"),
            right_pads=axes("pads"),
        )
    except InputError as exc:
        raise line.error(exc.message) from None
    return ParsedProblem(problem=problem, dtype=BASES[tokens[0].text], ignored=tuple(ignored))


def _read_flags(line: ProblemLine, tokens: list[Token]) -> tuple[dict[str, tuple[int, Token]], list[str]]:
    """Return short flag -> (value, value token), and the ignored flags."""
    given: dict[str, tuple[int, Token]] = {}
    ignored: list[str] = []
    position = 0
    while position < len(tokens):
        flag = tokens[position]
        if flag.text not in _INTEGER_FLAGS and flag.text not in _FIXED and flag.text not in _IGNORED:
            raise line.error(f"unknown MIOpenDriver flag {flag.text!r}; form: {FORM}", flag.column)
        if position + 1 == len(tokens):
            raise line.error(f"{flag.text} needs a value; form: {FORM}", flag.column)
        value = tokens[position + 1]
        position += 2
        if flag.text in _FIXED:
            if value.text != _FIXED[flag.text]:
                raise line.error(
                    f"{flag.text} {value.text} is not supported, only {_FIXED[flag.text]}", value.column
                )
        elif flag.text in _IGNORED:
            ignored.append(f"{flag.text} {value.text}")
        else:
            known = _INTEGER_FLAGS[flag.text]
            if known.short in given:
                raise line.error(f"{flag.text} is given twice", flag.column)
            given[known.short] = (line.integer(value, known.long[2:]), value)
    return given, ignored
