"""Whole lists and catalogs, damaged at random: each is read, or rejected with one error of our own.

What is read goes on to its instances, their validity, names and instance strings, as in every command.
"""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from ckprof.errors import CkprofError, ExitCode
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.conversion import ListReading
from ckprof.paths import conf_root
from ckprof.profiler import Profiler

#: what is put into files: pieces of both grammars, numbers at limits, controls, bytes that are no UTF-8
PIECES = [
    *(b"<", b">", b",", b"{", b"}", b"[", b"]", b'"', b":", b"#", b"\n", b"\r", b"\t", b"\x00", b"\x1b[31m"),
    *(b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xed\xa0\x80", "²٣é".encode(), b"null", b"true", b"NaN", b"-1"),
    *(b"0", b"1", b"2147483648", b"-9223372036854775809", b"1e308", b"1e999", b"0x10", b"1_0", b"[[[[[[[["),
    *(b"Default", b"Intrawave", b"fp16", b"NHWGC", b"v4", b"S<1,2>", b"ckprof:", b"\\u0000", b"\\ud800"),
]
#: values that take the place of others in catalogs
VALUES = [
    *(None, True, False, 0, 1, -1, 3, 7, 64, 2**31, 2**63, -(2**63) - 1, 1e300, 0.5, "", "x"),
    *("fp16", "nhwgc", "compv4", "\u0000", "\ud800", "=1+1", [], [1], {}, {"a": 1}, [[]] * 3),
]


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


@pytest.fixture(scope="module")
def sources():
    """Return small lists, as bytes, of every folder that ships with ckprof."""
    found = []
    for path in sorted(conf_root().rglob("*.conf")):
        lines = path.read_bytes().splitlines()
        for start in range(0, min(len(lines), 60), 6):
            found.append((path.name, b"\n".join(lines[start : start + 6]) + b"\n"))
    return found


@pytest.fixture(scope="module")
def catalogs():
    """Return small catalogs of every kind."""
    root = Path(__file__).parents[1] / "golden" / "catalogs"
    found = []
    for path in sorted(root.rglob("*.json")):
        document = json.loads(path.read_text())
        document["instances"] = document["instances"][:3]
        found.append(document)
    assert len({one["variant"] for one in found}) > 3
    return found


def damaged(data, dice):
    for _ in range(dice.choice((1, 1, 2, 4))):
        place = dice.randrange(len(data) + 1)
        end = min(len(data), place + dice.choice((0, 1, 3, 30)))
        match dice.randrange(5):
            case 0:
                data = data[:place] + data[end:]
            case 1 | 2:
                data = data[:place] + dice.choice(PIECES) + data[end:]
            case 3:
                data = data[:place] + data[place:end] * 3 + data[end:]
            case _:
                data = data[:place] if dice.random() < 0.2 else data[:place] + bytes([dice.randrange(256)])
    return data


def damaged_value(value, dice):
    """Return a document in which one value is another one, is gone, or has a neighbour."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        name = dice.choice(list(value))
        match dice.randrange(8):
            case 0:
                return {key: one for key, one in value.items() if key != name}
            case 1:
                return {**value, dice.choice(("extra", name.upper(), "")): dice.choice(VALUES)}
            case _:
                return {**value, name: damaged_value(value[name], dice)}
    if isinstance(value, list) and value and dice.random() < 0.85:
        place = dice.randrange(len(value))
        match dice.randrange(6):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return [*value, value[place]]
            case _:
                return [*value[:place], damaged_value(value[place], dice), *value[place + 1 :]]
    if dice.random() < 0.6:
        # of the same kind, so that the schema has nothing to say
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return dice.choice((0, 1, 2, 3, 5, 8, 16, 24, 32, 64, 100, 256, 2**20, 2**31 - 1, 2**40))
    return dice.choice(VALUES)


def read(profiler, path, dice):
    """Read a file as every command does, and return what became of it; foreign exceptions pass through."""
    query = InstanceQuery(
        conf=(path,), reading=ListReading(lenient=dice.random() < 0.5), keep_invalid=dice.random() < 0.3
    )
    try:
        selection = profiler.instances(query)
    except CkprofError as error:
        assert error.exit_code in (ExitCode.USAGE, ExitCode.INPUT, ExitCode.FAILED), error
        assert str(error)
        return type(error).__name__
    for candidate in selection.candidates[:3]:
        try:
            assert candidate.name and candidate.instance_string
        except CkprofError as error:
            return f"{type(error).__name__} of an instance"
    return "read" if selection.candidates else "nothing left"


def damage_lists(profiler, sources, folder, seed, count):
    dice = random.Random(seed)
    found = Counter()
    for _ in range(count):
        name, data = dice.choice(sources)
        path = folder / name
        path.write_bytes(damaged(data, dice))
        found[read(profiler, path, dice)] += 1
    return found


def damage_catalogs(profiler, catalogs, folder, seed, count):
    dice = random.Random(seed)
    found = Counter()
    path = folder / "catalog.json"
    for _ in range(count):
        document = dice.choice(catalogs)
        if dice.random() < 0.6:
            for _ in range(dice.choice((1, 1, 2, 3))):
                document = damaged_value(document, dice)
            data = json.dumps(document).encode()
        else:
            data = damaged(json.dumps(document).encode(), dice)
        path.write_bytes(data)
        found[read(profiler, path, dice)] += 1
    return found


def test_damaged_lists(profiler, sources, tmp_path):
    found = damage_lists(profiler, sources, tmp_path, seed=1, count=150)
    assert found["read"] > 20 and len(found) > 1, found


def test_damaged_catalogs(profiler, catalogs, tmp_path):
    found = damage_catalogs(profiler, catalogs, tmp_path, seed=1, count=150)
    assert found["read"] > 5 and sum(found.values()) - found["read"] > 50, found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_damaged_lists(profiler, sources, tmp_path):
    found = damage_lists(profiler, sources, tmp_path, seed=2, count=10_000)
    assert sum(found.values()) == 10_000
    print(dict(found))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twelve_thousand_damaged_catalogs(profiler, catalogs, tmp_path):
    found = damage_catalogs(profiler, catalogs, tmp_path, seed=2, count=12_000)
    assert sum(found.values()) == 12_000
    print(dict(found))
