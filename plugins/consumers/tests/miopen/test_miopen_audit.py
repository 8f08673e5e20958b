"""Databases of MIOpen: sound rows pass, and every seeded fault is named with its reason."""

import bz2
import random
import sqlite3
from contextlib import closing

import pytest

from ckprof.errors import InputError
from ckprof_plugins.consumers._old_ck.support import support
from ckprof_plugins.consumers.miopen.consumer import Miopen
from ckprof_plugins.consumers.records import AuditRequest, Reason
from ckprof_plugins.directions._convolution.problem import ConvProblem
from plugins.consumers.tests.databases import TYPES, Tuned, index, shipped, sqlite_database, tuned

PERF = "gfx942130.db.txt"
FIND = "gfx942130.HIP.fdb.txt"


def audited(path, **options):
    return Miopen().audit(AuditRequest(path=path, lists=shipped(), **options))


def reasons(audit, line):
    return [finding.reason for finding in audit.findings if finding.line == line]


def other_kernel(one):
    """The name of a kernel that does not support the problem, and that no other has."""
    family = ({"F": "fwd", "B": "bwd_data", "W": "bwd_weight"}[one.letter], one.ndim, one.dtype)
    for kernel in index().all_of(family):
        unmet = support(kernel, one.problem, one.dtype, one.splits, "gfx942").unmet
        if unmet and "split" not in unmet and index().find(family, kernel.names[0])[0] is kernel:
            return kernel.names[0] + ("" if one.letter == "F" else f"+{one.splits}")
    raise AssertionError(one)


def foreign_kernel(one):
    return f"{one.kernel.names[0]}".replace("<", "<1", 1) + ("" if one.letter == "F" else "+1")


def first_of(draw, letter, **conditions):
    while True:
        one = tuned(draw, letter, **conditions)
        if "TwoStage" not in one.kernel.kind and "Explicit" not in one.kernel.kind:
            return one


def reading_on(batch):
    """A problem whose vectors go on in the next column of the filter, which is not that of the image."""
    family = ("bwd_weight", 2, "bf16")
    kernel = next(
        one
        for one in index().all_of(family)
        if "TwoStage" in one.kind and one.values["BBlockTransferSrcScalarPerVector"] == "3"
    )
    problem = ConvProblem(
        groups=1, batch=batch, out_channels=12, in_channels=32, filter=(2, 3), input=(11, 15),
        strides=(1, 1), dilations=(1, 2), left_pads=(0, 0), right_pads=(0, 0),
    )  # fmt: skip
    return Tuned(problem, "W", "bf16", kernel, splits=1)


def with_entry(one, **changes):
    return f"{one.find_key()}={one.find_entry(**changes)}"


#: reason -> rows of a performance database with such a fault
PERF_FAULTS = {
    "a field less": (Reason.MALFORMED_KEY, lambda d: tuned(d).perf_row().partition("x")[2]),
    "a letter": (Reason.MALFORMED_KEY, lambda d: tuned(d).perf_row(direction="Q")),
    "no key": (Reason.MALFORMED_ROW, lambda d: tuned(d).perf_row().partition("=")[2]),
    "nothing": (Reason.MALFORMED_ROW, lambda d: tuned(d).perf_key() + "="),
    "leading zero": (Reason.NEVER_HIT, lambda d: "0" + tuned(d).perf_row()),
    "depth of 2D": (Reason.NEVER_HIT, lambda d: tuned(d, ndim=2).perf_row(dilation_d=1)),
    "bias": (Reason.NEVER_HIT, lambda d: tuned(d).perf_row(bias=1)),
    "layout of 3D": (Reason.NEVER_HIT, lambda d: tuned(d, ndim=2).perf_row(layout="NDHWC")),
    "equal types": (
        Reason.NEVER_HIT,
        lambda d: (one := tuned(d)).perf_row(data_type=TYPES[one.dtype] * 3),
    ),
    "groups": (Reason.WRONG_PROBLEM, lambda d: tuned(d).perf_row(group_count=7)),
    "removed solver": (
        Reason.STALE_SOLVER,
        lambda d: (one := tuned(d)).perf_row().replace(one.solver, "ConvHipImplicitGemmMlirCppFwd"),
    ),
    "no name of a solver": (
        Reason.STALE_SOLVER,
        lambda d: (one := tuned(d)).perf_row().replace(one.solver, "Conv HipImplicitGemmBest"),
    ),
    "another direction": (
        Reason.WRONG_SOLVER,
        lambda d: tuned(d, "W").perf_row().replace("GroupWrwXdlops", "GroupFwdXdlops"),
    ),
    "another dimension": (
        Reason.WRONG_SOLVER,
        lambda d: tuned(d, ndim=2).perf_row().replace("GemmGroup", "Gemm3DGroup"),
    ),
    "no such kernel": (
        Reason.UNKNOWN_KERNEL,
        lambda d: f"{(one := tuned(d)).perf_key()}={one.solver}:{foreign_kernel(one)}",
    ),
    "other blanks": (
        Reason.UNKNOWN_KERNEL,
        lambda d: tuned(d, "F").perf_row().replace(", ", ","),
    ),
    "carriage return": (Reason.UNKNOWN_KERNEL, lambda d: tuned(d, "F").perf_row() + "\r"),
    "unsupported": (
        Reason.UNSUPPORTED,
        lambda d: f"{(one := tuned(d)).perf_key()}={one.solver}:{other_kernel(one)}",
    ),
    "known fault": (
        Reason.KNOWN_FAULT,
        lambda d: reading_on(d.choice((1, 3))).perf_row(),
    ),
    "type": (Reason.UNSUPPORTED, lambda d: tuned(d).perf_row(data_type="FP64")),
    "no splits": (Reason.MALFORMED_VALUE, lambda d: tuned(d, "W").perf_row().rpartition("+")[0]),
    "splits as a word": (Reason.MALFORMED_VALUE, lambda d: tuned(d, "W").perf_row() + "many"),
    "splits forward": (Reason.MALFORMED_VALUE, lambda d: tuned(d, "F").perf_row() + "+2"),
    "no split at all": (
        Reason.WRONG_SPLIT,
        lambda d: tuned(d, "W").perf_row().rpartition("+")[0] + "+0",
    ),
    "automatic splits of one stage": (
        Reason.WRONG_SPLIT,
        lambda d: first_of(d, "W").perf_row().rpartition("+")[0] + "+-1",
    ),
    "no colon": (Reason.MALFORMED_VALUE, lambda d: tuned(d).perf_row().replace(":", "?")),
}  # fmt: skip

FIND_FAULTS = {
    "another output": (
        Reason.WRONG_PROBLEM,
        lambda d: (one := tuned(d)).find_row(out="-".join(str(size + 5) for size in one.sides()[1][1])),
    ),
    "one group": (Reason.NEVER_HIT, lambda d: tuned(d, groups=1).find_row(groups="_g1")),
    "one layout": (
        Reason.NEVER_HIT,
        lambda d: (one := tuned(d)).find_row(layouts=("N" + "DHW"[3 - one.ndim :] + "C")),
    ),
    "three usual layouts": (
        Reason.NEVER_HIT,
        lambda d: (one := tuned(d)).find_row(layouts="-".join(["NC" + "DHW"[3 - one.ndim :]] * 3)),
    ),
    "a dash less": (Reason.MALFORMED_KEY, lambda d: tuned(d).find_row().replace("-", "", 1)),
    "algorithm of another direction": (
        Reason.WRONG_SOLVER,
        lambda d: with_entry(tuned(d, "F"), algorithm="miopenConvolutionBwdDataAlgoImplicitGEMM"),
    ),
    "another algorithm": (
        Reason.WRONG_SOLVER,
        lambda d: with_entry(tuned(d, "F"), algorithm="miopenConvolutionFwdAlgoGEMM"),
    ),
    "no algorithm": (
        Reason.MALFORMED_VALUE,
        lambda d: with_entry(tuned(d), algorithm="fast"),
    ),
    "workspace": (
        Reason.WRONG_WORKSPACE,
        lambda d: f"{(one := tuned(d)).find_key()}=" + one.find_entry(workspace=one.workspace + 256),
    ),
    "negative time": (
        Reason.WRONG_TIME,
        lambda d: with_entry(tuned(d), time="-1"),
    ),
    "no number": (Reason.WRONG_TIME, lambda d: with_entry(tuned(d), time="nan")),
    "no time": (
        Reason.MALFORMED_VALUE,
        lambda d: with_entry(tuned(d), time="soon"),
    ),
    "a value less": (Reason.MALFORMED_VALUE, lambda d: tuned(d).find_row().replace(",", "", 1)),
    "twice in a row": (
        Reason.DUPLICATE,
        lambda d: (one := tuned(d)).find_row() + ";" + one.find_entry(time="7"),
    ),
    "time 0": (Reason.DOUBTFUL_TIME, lambda d: with_entry(tuned(d), time="0.0")),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("name", "faults", "sound"), [(PERF, PERF_FAULTS, Tuned.perf_row), (FIND, FIND_FAULTS, Tuned.find_row)]
)
def test_every_seeded_fault_is_named_and_nothing_else(tmp_path, name, faults, sound, seed):
    draw = random.Random(seed)
    rows, expected, keys = [], {}, set()
    for reason, make in faults.values():
        for faulty in (False, True):
            while True:
                row = make(draw) if faulty else sound(tuned(draw))
                if row.partition("=")[0] not in keys:
                    break
            keys.add(row.partition("=")[0])
            rows.append(row)
            if faulty:
                expected[len(rows)] = reason
    path = tmp_path / name
    path.write_bytes(("\n".join(rows) + "\n").encode())
    audit = audited(path)
    assert [finding for finding in audit.findings if finding.line not in expected] == []
    for line, reason in expected.items():
        assert reasons(audit, line) == [reason], rows[line - 1]
    clean = tmp_path / "clean" / name
    clean.parent.mkdir()
    clean.write_bytes(Miopen().cleaned(audit))
    left = audited(clean)
    assert {finding.reason for finding in left.findings} <= {Reason.DOUBTFUL_TIME}
    assert left.entries >= len(rows) - len(expected)


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_order_are_all_found_and_supported(tmp_path, seed):
    draw = random.Random(seed)
    rows = {one.perf_key(): one for one in (tuned(draw) for _ in range(60))}
    path = tmp_path / PERF
    path.write_text("".join(f"{one.perf_row()}\n" for one in rows.values()))
    audit = audited(path, arch="gfx942", compute_units=304)
    assert (audit.findings, audit.entries) == ([], len(rows))
    assert audit.judged == {"kernel supported": len(rows)}


def test_the_second_line_of_a_key_is_never_read(tmp_path):
    one = tuned(random.Random(1))
    path = tmp_path / FIND
    path.write_text(f"{one.find_row()}\n\n{one.find_key()}={one.find_entry(time='9')}\n")
    (finding,) = audited(path).findings
    assert (finding.reason, finding.line) == (Reason.DUPLICATE, 3)
    assert "line 1 has this key" in finding.message


def test_a_name_of_several_kernels_is_noted(tmp_path):
    families = [("bwd_data", 2, "fp16"), ("fwd", 2, "fp16")]
    family, kernels = next(
        (family, found)
        for family in families
        for kernel in index().all_of(family)
        if len(found := index().find(family, kernel.names[0])) > 1
        and "Filter" not in kernel.names[0]
        and all(len(one.values["ABlockTransferSrcScalarPerVector"]) == 1 for one in found)
    )
    draw = random.Random(3)
    one = next(
        one
        for one in iter(lambda: tuned(draw, "B" if family[0] == "bwd_data" else "F", 2), None)
        if one.dtype == "fp16" and not support(kernels[0], one.problem, "fp16", 1, "").unmet
    )
    path = tmp_path / PERF
    suffix = "" if one.letter == "F" else "+1"
    path.write_text(f"{one.perf_key()}={one.solver}:{kernels[0].names[0]}{suffix}\n")
    audit = audited(path)
    (finding,) = audit.findings
    assert finding.reason is Reason.AMBIGUOUS_KERNEL
    assert kernels[0].source in finding.message


def test_an_unknown_kernel_that_differs_in_one_argument(tmp_path):
    one = first_of(random.Random(4), "F")
    head, _, rest = one.kernel.names[0].partition("<")
    tile = rest.split(", ")[1]
    path = tmp_path / PERF
    path.write_text(f"{one.perf_key()}={one.solver}:{head}<{rest.replace(f', {tile},', ', 48,', 1)}\n")
    (finding,) = audited(path).findings
    assert finding.reason is Reason.UNKNOWN_KERNEL
    assert f"argument 2 differs from {one.kernel.source}: MPerBlock = 48, expected {tile}" in finding.message


@pytest.mark.parametrize("name", [PERF, FIND])
def test_packed_databases(tmp_path, name):
    draw = random.Random(6)
    good, bad = tuned(draw), tuned(draw)
    rows = [one.perf_row() if name == PERF else one.find_row() for one in (good, bad)]
    rows[1] = rows[1].replace("=", "=x", 1)
    path = tmp_path / f"{name}.bz2"
    text = "".join(f"{row}\n" for row in rows).encode()
    # programs that pack in parallel write several streams
    path.write_bytes(bz2.compress(text[:50]) + bz2.compress(text[50:]))
    assert Miopen().owns(path, path.read_bytes()[:65536])
    audit = audited(path)
    assert [one.line for one in audit.findings] == [2]
    assert bz2.decompress(Miopen().cleaned(audit)).decode() == f"{rows[0]}\n"
    for damaged in (path.read_bytes()[:-9], b"BZh9nonsense", b"", text):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="bzip2"):
            audited(path)


def test_entries_of_the_first_version_are_understood(tmp_path):
    one = tuned(random.Random(5), "F")
    path = tmp_path / FIND
    old = "miopenConvolutionFwdAlgoGEMM:GemmFwdRest,23.3,401408,rocBlas,<unused>"
    path.write_text(f"{one.find_key()}={old}\n")
    audit = audited(path)
    assert (audit.findings, audit.entries) == ([], 1)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("gfx942_304.db.txt", {}, Reason.WRONG_FILE_NAME),
        ("gfx94224.db.txt", {}, Reason.WRONG_FILE_NAME),
        ("gfx942130.HIP.udb.txt", {}, Reason.WRONG_FILE_NAME),
        ("mine.db.txt", {}, Reason.WRONG_FILE_NAME),
        (PERF, {"arch": "gfx90a"}, Reason.WRONG_DEVICE),
        (PERF, {"compute_units": 80}, Reason.WRONG_DEVICE),
        ("gfx94250.HIP.3_2_0_5f2ae8c.udb.txt", {"compute_units": 304}, Reason.WRONG_DEVICE),
    ],
)
def test_names_and_devices(tmp_path, name, options, reason):
    path = tmp_path / name
    path.write_text(tuned(random.Random(2)).perf_row() + "\n")
    audit = audited(path, **options)
    assert [(finding.reason, finding.line) for finding in audit.findings] == [(reason, 0)]


def test_a_sqlite_database_row_by_row(tmp_path):
    draw = random.Random(11)
    good, bad, late = tuned(draw, "F"), tuned(draw, "W"), tuned(draw, "F")
    path = tmp_path / "gfx942130_1.1.0.udb"
    rows = [(one.columns(), one.solver, one.value) for one in (good, bad, late)]
    rows[1] = (rows[1][0], bad.solver, bad.kernel.names[0] + "+0")
    rows[2] = ({**rows[2][0], "bias": 1}, *rows[2][1:])
    sqlite_database(path, rows)
    audit = audited(path)
    assert [(f.line, f.reason) for f in audit.findings] == [(2, Reason.WRONG_SPLIT), (3, Reason.NEVER_HIT)]
    assert audit.judged == {"kernel supported": 1}
    path.write_bytes(Miopen().cleaned(audit))
    assert (audited(path).entries, audited(path).findings) == (1, [])


def test_other_databases_are_not_recognised(tmp_path):
    draw = random.Random(12)
    path = tmp_path / "gfx942130_1.1.0.udb"
    sqlite_database(path, [(one.columns(), one.solver, one.value) for one in [tuned(draw)]])
    assert Miopen().owns(path, path.read_bytes()[:65536])
    cache = tmp_path / "gfx942130.ukdb"
    with closing(sqlite3.connect(cache)) as connection:
        connection.execute("CREATE TABLE kern_db (id INTEGER, kernel_blob BLOB)")
    assert not Miopen().owns(cache, cache.read_bytes())


def test_a_damaged_database_is_judged_as_far_as_it_can_be_read(tmp_path):
    draw = random.Random(13)
    path = tmp_path / "gfx942130_1.1.0.udb"
    rows = [(one.columns(), one.solver, one.value) for one in (tuned_often(draw) for _ in range(12))]
    sqlite_database(path, rows)
    whole = path.read_bytes()
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 30)):
            place = draw.randrange(100, len(data))
            data[place : place + 4] = draw.randbytes(4)
        path.write_bytes(data[: draw.choice((len(data), draw.randrange(200, len(data))))])
        audit = audited(path)
        assert audit.findings or audit.entries <= len(rows)
        try:
            Miopen().cleaned(audit)
        except InputError as error:
            assert "cannot be cleaned" in str(error) or "cannot be read as" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "row"), [(PERF, Tuned.perf_row), (FIND, Tuned.find_row)])
def test_no_mutation_is_an_exception(tmp_path, name, row):
    draw = random.Random(name)
    path = tmp_path / name
    for _ in range(10_000):
        data = bytearray("\n".join(row(tuned_often(draw)) for _ in range(2)).encode())
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(data))
            match draw.randrange(4):
                case 0:
                    data[place] = draw.randrange(256)
                case 1:
                    del data[place : place + draw.randint(1, 9)]
                case 2:
                    data[place:place] = data[place : place + draw.randint(1, 40)]
                case _:
                    data[place:place] = draw.choice(
                        [b"\n", b"=", b":", b";", b"x", b"-", b"+", b"9" * 40, b"\0"]
                    )
        path.write_bytes(data)
        audit = audited(path)
        assert len(Miopen().cleaned(audit)) <= len(data) + 1


_KEPT = {}


def tuned_often(draw):
    """One of a few tuned problems, which take time to find."""
    number = draw.randrange(40)
    if number not in _KEPT:
        _KEPT[number] = tuned(random.Random(number))
    return _KEPT[number]


@pytest.mark.parametrize(
    ("dtype", "two_stages", "lost"),
    [("bf16", False, True), ("fp16", False, True), ("fp32", False, False), ("bf16", True, False)],
)
def test_splits_that_lose_digits_are_noted(tmp_path, dtype, two_stages, lost):
    """64 of them, added up in 16 bits; two stages add them up in fp32."""
    draw = random.Random(5)
    one = next(
        one
        for one in iter(lambda: tuned(draw, "W"), None)
        if (one.dtype, "TwoStage" in one.kernel.kind) == (dtype, two_stages)
        and not support(one.kernel, one.problem, dtype, 64, "gfx942").unmet
    )
    path = tmp_path / PERF
    path.write_text(one.perf_row().rpartition("+")[0] + "+64\n")
    notes = [finding.message for finding in audited(path).findings if finding.reason is Reason.LOSES_DIGITS]
    assert len(notes) == lost
    assert all(f"64 splits are added up in {dtype}: results may be off by " in note for note in notes)
