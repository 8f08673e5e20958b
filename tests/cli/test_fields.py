"""Fields of dataclasses as options of a command line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import pytest

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.parser import CommandParser
from ckprof.errors import UsageError
from ckprof.option import numbers, option, percent, positive, same_option, share


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Paint:
    coats: int = field(default=2, metadata=option("how many", metavar="N", parse=positive))
    colour: Colour = field(default=Colour.RED, metadata=option("which"))
    gloss: float = field(default=0.25, metadata=option("how bright, up to 100%", parse=share, show=percent))
    dry_s: float | None = field(default=None, metadata=option("seconds", flag="--dry"))
    prime: bool = field(default=True, metadata=option("no first coat", flag="--no-primer"))
    walls: tuple[int, ...] = field(default=(), metadata=option("walls", parse=numbers, several="extend"))
    doors: tuple[int, ...] = field(default=(), metadata=option("doors", parse=numbers, several="store"))
    tools: tuple[Path, ...] = field(default=(), metadata=option("with what"))
    brand: str = field(metadata=option("whose", flag="-b --brand"))
    secret: int = 7

    def __post_init__(self):
        if self.coats > 9:
            raise UsageError("too many coats")


@dataclass(frozen=True, kw_only=True)
class Job:
    rooms: tuple[str, ...] = field(metadata=option("where", flag="rooms", metavar="ROOM"))
    coats: int = field(default=1, metadata=same_option(Paint, "coats"))


def parser(**options):
    made = CommandParser(prog="paint")
    add_fields(made, Paint, **options)
    return made


def paint(*words):
    return chosen(parser().parse_all(["--brand", "b", *words]), Paint)


def test_without_options_the_defaults_hold():
    assert paint() == Paint(brand="b")


def test_every_kind_of_field_is_read():
    given = paint(
        *("--coats", "3", "--colour", "blue", "--gloss", "50%", "--dry", "1.5", "--no-primer"),
        *("--walls", "1-2", "--walls", "4", "--doors", "2", "--tools", "a", "--tools", "b"),
    )
    assert given == Paint(
        coats=3,
        colour=Colour.BLUE,
        gloss=0.5,
        dry_s=1.5,
        prime=False,
        walls=(1, 2, 4),
        doors=(2,),
        tools=(Path("a"), Path("b")),
        brand="b",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--coats", "0"), "argument --coats: expected a positive integer, got '0'"),
        (("--dry", "x"), "argument --dry: expected a number, got 'x'"),
        (("--gloss", "x"), "argument --gloss: expected a share such as 0.25 or 25%, got 'x'"),
        (("--colour", "green"), "argument --colour: unknown value 'green'"),
        (("--secret", "1"), "unknown option '--secret'"),
    ],
)
def test_wrong_values_are_usage_errors(words, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        paint(*words)


def test_what_is_required_and_checked():
    with pytest.raises(UsageError, match="-b/--brand"):
        parser().parse_all([])
    assert parser(required=False).parse_all([]).brand is None
    with pytest.raises(UsageError, match="too many coats"):
        paint("--coats", "10")


def test_defaults_hold_and_are_shown():
    usual = Paint(coats=5, brand="ours")
    made = parser(defaults=usual)
    assert chosen(made.parse_all(["--dry", "2"]), Paint, defaults=usual) == Paint(
        coats=5, brand="ours", dry_s=2.0
    )
    assert "how many (default: 5)" in made.format_help()
    text = parser().format_help()
    assert "how many (default: 2)" in text
    assert "{red,blue}" in text and "which (default: red)" in text
    assert "up to 100% (default: 25%)" in " ".join(text.split())
    assert "no first coat\n" in text and "with what\n" in text


def test_only_the_named_fields_are_asked_for():
    made = CommandParser(prog="paint")
    add_fields(made, Paint, "brand", "coats")
    typed = made.parse_all(["--brand", "b", "--coats", "3"])
    assert chosen(typed, Paint, "brand") == Paint(brand="b")
    assert chosen(typed, Paint, "coats", brand="given") == Paint(brand="given", coats=3)


def test_fields_share_an_option_and_positional_arguments_have_none():
    made = parser(required=False)
    add_fields(made, Job, "rooms")
    typed = made.parse_all(["hall", "attic", "--coats", "4"])
    assert chosen(typed, Job) == Job(rooms=("hall", "attic"), coats=4)


def test_names_in_braces_are_replaced_where_help_is_shown():
    made = CommandParser(prog="paint")
    made.add_argument("--brand", help="one of {brands}")
    made.complete_help({"brands": lambda: "a, 100%", "others": lambda: pytest.fail("not asked for")})
    assert "one of a, 100%" in made.format_help()
