"""``audit --fix``: a clean file is sound, and every row that would be used is used as before."""

import csv
import io
import json
import os
import random
import sqlite3
from contextlib import closing
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckprof.errors import ExitCode, InputError
from ckprof_plugins.consumers.aiter.consumer import Aiter
from ckprof_plugins.consumers.hipdnn import Hipdnn
from ckprof_plugins.consumers.miopen.consumer import Miopen
from ckprof_plugins.consumers.records import AuditRequest
from plugins.consumers.tests.databases import shipped, sqlite_database, tuned

#: key of a row, which of its values, and whether the value is one that no program should use
Row = tuple[int, int, bool]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=1, max_size=10)
WRONG = "nonsense"


class AiterTable:
    """Rows of one key end the reader, unless they are alike; the fastest is what a merge keeps."""

    consumer, name = Aiter(), "a8w8_tuned_gemm.csv"

    def write(self, path, rows):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["gfx", "cu_num", "M", "N", "K", "kernelId", "splitK", "us", "kernelName"])
        for key, value, is_wrong in rows:
            us = "inf" if is_wrong else 5 + value
            writer.writerow(["gfx942", 304, key + 1, 64, 64, 3, 0, us, f"a8w8_rowwise_{value}"])
        path.write_text(text.getvalue())

    def used(self, path):
        found = {}
        for row in csv.DictReader(io.StringIO(path.read_text())):
            key = int(row["M"]) - 1
            if key in found and found[key] != row:
                return None
            found[key] = row
        return {key: row["us"] for key, row in found.items()}

    def expected(self, rows):
        values = {
            key: str(5 + min(v for k, v, wrong in rows if k == key and not wrong))
            for key, _, w in rows
            if not w
        }
        return values


@cache
def problems():
    """Tuned problems of four keys, with values of three kernels each, and a solver besides."""
    draw = random.Random(7)
    return list({one.perf_key(): one for one in (tuned(draw, "W", 2) for _ in range(40))}.values())[:4]


def value_of(key, value, is_wrong):
    """Parameters: kernels are the same, splits differ; the third value is of a solver of its own."""
    one = problems()[key]
    name = one.kernel.names[0]
    solver = "ConvAsm1x1U" if value == 2 else one.solver
    if value == 2:
        return solver, "" if is_wrong else "1,2,3"
    return solver, WRONG if is_wrong else f"{name}+1"


class MiopenText:
    """The first line of a key counts, and of a line the first entry of a solver."""

    consumer, name = Miopen(), "gfx942130.db.txt"

    def write(self, path, rows):
        lines = []
        for key, value, is_wrong in rows:
            solver, parameters = value_of(key, value, is_wrong)
            # every other row goes on in the line before, if that is of its key
            text = f"{problems()[key].perf_key()}="
            if lines and lines[-1].startswith(text) and len(lines) % 2:
                lines[-1] += f";{solver}:{parameters}"
            else:
                lines.append(f"{text}{solver}:{parameters}")
        path.write_text("".join(f"{line}\n" for line in lines))

    def used(self, path):
        found = {}
        for line in path.read_text().splitlines():
            key, _, contents = line.partition("=")
            if key not in found:
                found[key] = {}
                for entry in contents.split(";"):
                    solver, _, parameters = entry.partition(":")
                    found[key].setdefault(solver, parameters)
        return {(key, solver): one for key, inner in found.items() for solver, one in inner.items()}

    def is_good(self, parameters):
        return parameters not in (WRONG, "")


class MiopenTable(MiopenText):
    """Of rows of one problem and solver the last counts."""

    name = "gfx942130_1.1.0.udb"

    def write(self, path, rows):
        path.unlink(missing_ok=True)
        sqlite_database(
            path, [(problems()[key].columns(), *value_of(key, value, wrong)) for key, value, wrong in rows]
        )

    def used(self, path):
        found = {}
        with closing(sqlite3.connect(path)) as connection:
            for key, solver, value in connection.execute(
                "SELECT c.in_channels || '-' || c.out_channels || '-' || c.in_h || c.fil_h || c.batchsize || "
                "c.group_count || c.data_type || c.layout || c.conv_stride_h, p.solver, p.params "
                "FROM perf_db p JOIN config c ON c.id = p.config ORDER BY p.rowid"
            ):
                found[key, solver] = value
        return found


class HipdnnOverrides:
    """The first override that fits counts."""

    consumer, name = Hipdnn(), "override.json"

    def write(self, path, rows):
        overrides = [
            {
                "op": "pointwise",
                "engine_name": f"engine {value}",
                "tensors": [{"tensor_id": "X", "dim": [key + 1], "stride": [1]}],
                "autotune_metadata": {"min_time_ms": -1 if is_wrong else 1},
            }
            for key, value, is_wrong in rows
        ]
        path.write_text(json.dumps({"version": 2, "mine": rows, "engine_overrides": overrides}))

    def used(self, path):
        found = {}
        for item in json.loads(path.read_text())["engine_overrides"]:
            found.setdefault(item["tensors"][0]["dim"][0], (item["engine_name"], item["autotune_metadata"]))
        return found

    def is_good(self, value):
        return value[1]["min_time_ms"] >= 0


def cleaned(kind, path):
    request = AuditRequest(path=path, lists=shipped())
    audit = kind.consumer.audit(request)
    path.write_bytes(kind.consumer.cleaned(audit))
    assert not kind.consumer.audit(request).removable
    return audit


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
@pytest.mark.parametrize("kind", [MiopenText(), MiopenTable(), HipdnnOverrides()], ids=lambda one: one.name)
def test_what_would_be_used_is_used_as_before(tmp_path, kind, rows):
    path = tmp_path / kind.name
    kind.write(path, rows)
    before = kind.used(path)
    cleaned(kind, path)
    after = kind.used(path)
    assert all(kind.is_good(value) for value in after.values())
    good = {key: value for key, value in before.items() if kind.is_good(value)}
    assert {key: after.get(key) for key in good} == good
    # what was behind something wrong is used now
    assert len({key if isinstance(key, int) else key[0] for key in after}) == len(
        {k for k, _, w in rows if not w}
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_a_table_of_aiter_is_read_and_keeps_the_fastest_rows(tmp_path, rows):
    kind = AiterTable()
    path = tmp_path / kind.name
    kind.write(path, rows)
    cleaned(kind, path)
    assert kind.used(path) == kind.expected(rows)


MUTATIONS = [
    b"\n",
    b",",
    b'"',
    b"\0",
    b"9" * 30,
    b"=",
    b":",
    b";",
    b"[",
    b"}",
    b"1e999",
    b"nan",
    b"\xff\xfe",
    b"-",
]


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "kind", [AiterTable(), MiopenText(), MiopenTable(), HipdnnOverrides()], ids=lambda one: one.name
)
def test_whatever_a_file_holds_its_clean_file_is_sound(tmp_path, kind, count):
    draw = random.Random(kind.name)
    path = tmp_path / kind.name
    kind.write(path, [(key, value, key == 3) for key in range(4) for value in range(2)])
    whole = path.read_bytes()
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(data))
            data[place : place + draw.randint(0, 5)] = draw.choice(MUTATIONS)
        path.write_bytes(data)
        try:
            cleaned(kind, path)
        except InputError as error:
            assert str(error).startswith(str(path))


@pytest.fixture
def table(tmp_path):
    kind = AiterTable()
    path = tmp_path / kind.name
    kind.write(path, [(0, 0, False), (1, 0, True)])
    return path


@pytest.mark.parametrize("kind", ["link", "dangling link", "file", "folder", "fifo"])
def test_nothing_that_is_there_is_written(ckprof, table, kind):
    clean, other = table.with_name(f"{table.name}.clean"), table.with_name("other")
    other.write_text("mine")
    match kind:
        case "link":
            clean.symlink_to(other)
        case "dangling link":
            clean.symlink_to(table.with_name("nothing"))
        case "file":
            clean.write_text("mine")
        case "folder":
            clean.mkdir()
        case _:
            os.mkfifo(clean)
    done = ckprof("audit", table, "--fix")
    assert (done.code, "is there already and is not this clean file" in done.err) == (ExitCode.INPUT, True)
    assert "wrong_time" in done.out
    assert other.read_text() == "mine"
    assert sorted(one.name for one in table.parent.iterdir()) == sorted((table.name, clean.name, "other"))


def test_one_file_that_cannot_be_written_stops_no_other(ckprof, table):
    second = table.with_name("z_a8w8_blockscale_tuned_gemm.csv")
    second.write_bytes(table.read_bytes())
    table.with_name(f"{table.name}.clean").mkdir()
    assert ckprof("audit", table, second, "--fix").code == ExitCode.INPUT
    assert second.with_name(f"{second.name}.clean").read_text().count("\n") == 2


def test_the_same_clean_file_may_be_there(ckprof, table):
    assert [ckprof("audit", table, "--fix").code for _ in range(2)] == [ExitCode.FAILED] * 2


@pytest.mark.parametrize("kind", [AiterTable(), MiopenText(), HipdnnOverrides()], ids=lambda one: one.name)
def test_a_file_that_has_changed_since_is_not_cleaned(tmp_path, kind):
    path = tmp_path / kind.name
    kind.write(path, [(0, 0, False), (1, 0, True)])
    audit = kind.consumer.audit(AuditRequest(path=path, lists=shipped()))
    kind.write(path, [(1, 0, True), (0, 0, False)])
    with pytest.raises(InputError, match="has changed since it was judged"):
        kind.consumer.cleaned(audit)
