"""What an upgrade changes: of two small libraries, and of builds that are made up."""

import json
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import ckprof
from ckprof.errors import ExitCode, InputError, NothingLeftError, UsageError
from ckprof.kernels.inspection import InspectedKernel, Inspection
from ckprof.measure.worker.messages import AbiStatus, Support
from ckprof.model.device import Occupancy
from ckprof.model.problem_case import ProblemCase
from ckprof.model.requirement import UnmetRequirement
from ckprof_plugins.consumers import upgrade as module
from ckprof_plugins.consumers import upgrade_changes
from ckprof_plugins.consumers._old_ck.kernels import kernels_of
from ckprof_plugins.consumers.cmd_upgrade import render_json, render_junit, render_text, verdict
from ckprof_plugins.consumers.upgrade import UpgradeCall, UpgradeSide, upgrade
from ckprof_plugins.consumers.upgrade_changes import UpgradePart
from ckprof_plugins.extract.lists import ExtractRequest, extract_lists
from plugins.consumers.tests.aiter.test_aiter_audit import HEADER, NAMES, SOURCE
from plugins.consumers.tests.databases import Tuned, index
from plugins.extract.tests.conftest import MAIN_LINES, MERGED_LINES, members, write_archive
from plugins.extract.tests.tree import MAIN_ALIAS, Tree, alias, element, line
from tests.convolutions import convolution
from tests.report.test_inspection_report import device_kernel

UNITS = 304
PROBLEM = convolution("2 1 32 64 64 3 3 28 28 1 1 1 1 1 1 1 1")


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


@pytest.fixture
def trees(tmp_path, monkeypatch):
    """The small library, and one whose second kernel has another tile."""
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    old, new = Tree(tmp_path / "old"), Tree(tmp_path / "new")
    new.tuples(alias(MAIN_ALIAS, element(256, 128), element(128, 32, vector=4)))
    return old.write(), new.write()


def fwd_row(vector, tile, block):
    """A row of MIOpen's performance database with a kernel of the small library."""
    ((_, kernel),) = kernels_of(line(block, tile, "Default", vector=vector), "forward/nhwgc_fp16.conf", 1)
    return Tuned(PROBLEM, "F", "fp16", kernel, 1).perf_row()


def placed(row):
    return tuple(row.values[name] for name in ("line", "side", "reason"))


def test_a_side_is_a_folder_a_package_or_a_compiler(tmp_path):
    package = tmp_path / "a.deb"
    package.write_bytes(b"")
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    assert UpgradeSide.of(str(tmp_path)).headers == tmp_path
    assert (UpgradeSide.of(str(package)).source, UpgradeSide.of(str(package)).headers) == (package, None)
    assert UpgradeSide.of(f"{compiler} -v").compiler == f"{compiler} -v"
    for name in (str(tmp_path / "nothing"), "", str(tmp_path / "text")):
        (tmp_path / "text").write_text("")
        with pytest.raises(InputError, match="neither a folder, nor a package"):
            UpgradeSide.of(name)


def test_lists_that_change_and_rows_that_this_affects(profiler, trees, tmp_path):
    old, new = trees
    database = tmp_path / "gfx942130.db.txt"
    gone, kept = fwd_row(4, 64, 128), fwd_row(8, 128, 256)
    database.write_text(f"{kept}\n{gone}\n")
    # one key can be there once
    database.write_text(f"{kept}\n" + gone.replace("x64x32x", "x64x16x", 1) + "\n")
    found = upgrade(profiler, UpgradeCall(old=str(old), new=str(new), databases=(database,)))
    changed = {one.place: one for one in found.lists if not one.is_same}
    profiled = changed["forward/profiler/nhwgc_fp16.conf"]
    # four specializations of the kernel whose tile has changed
    assert (profiled.added_count, len(profiled.removed)) == (4, 4)
    assert {name for one in profiled.removed for name, _, _ in one.changes} == {"MPerBlock", "NPerBlock"}
    (row,) = found.of(UpgradePart.ROWS)
    assert placed(row) == (2, "new", "unknown_kernel")
    assert not found.passed
    back = upgrade(profiler, UpgradeCall(old=str(new), new=str(old), databases=(database,)))
    (row,) = back.of(UpgradePart.ROWS)
    assert placed(row)[:2] == (2, "old")


def test_packages_are_compared_by_what_was_compiled(profiler, tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    sides = []
    for name, lines in (("old", MAIN_LINES), ("new", MAIN_LINES[:-2])):
        tree = Tree(tmp_path / name)
        tree.write()
        root = write_archive(tree, members(lines, MERGED_LINES))
        sides.append(str(root / "lib/x86_64-linux-gnu/libdevice_conv_operations.a"))
    assert all(UpgradeSide.of(side).headers is None for side in sides)
    if find_spec("elftools") is None:
        pytest.skip("pyelftools is not installed")
    found = upgrade(profiler, UpgradeCall(old=sides[0], new=sides[1]))
    (changed,) = [one for one in found.lists if not one.is_same]
    # the last specialization was not compiled any more
    assert {one.text for one in changed.removed} == set(MAIN_LINES[-2:])
    assert not changed.added


def test_numbers_of_a_programs_own_kernels_that_move(profiler, tmp_path):
    for side, text in (("old", SOURCE), ("new", SOURCE.replace("    1: Kernel", "    7: Kernel"))):
        folder = tmp_path / side / "csrc" / "ck_gemm_a8w8"
        folder.mkdir(parents=True)
        (folder / "gemm_a8w8_common.py").write_text(text)
    table = tmp_path / "a8w8_tuned_gemm.csv"
    rows = [f"304,{m},1280,8192,{id_},0,11.5,{NAMES[id_]},1,1,0.0" for m, id_ in ((1, 0), (2, 1), (3, 1))]
    table.write_text("\n".join([HEADER, *rows, ""]))
    call = UpgradeCall(old=str(tmp_path / "old"), new=str(tmp_path / "new"), databases=(table,))
    found = upgrade(profiler, call)
    assert [placed(row) for row in found.of(UpgradePart.ROWS)] == [
        (3, "new", "unknown_kernel"),
        (4, "new", "unknown_kernel"),
    ]
    # neither side is a tree of the library
    assert sum("no lists" in note for note in found.notes) == 2
    assert found.judged == ("3 entries of databases",)


def test_nothing_is_affected_by_an_upgrade_to_the_same(profiler, trees, tmp_path):
    old, _ = trees
    found = upgrade(profiler, UpgradeCall(old=str(old), new=str(old)))
    assert found.passed and found.lists and verdict(found) == "nothing is affected"


def test_a_list_that_one_side_lacks_is_empty_there(profiler, trees, tmp_path):
    old, new = trees
    other = Tree(tmp_path / "other")
    other.texts["ck/config.h"] = other.texts["ck/config.h"].replace("#define CK_ENABLE_FP32 ON", "")
    report = [extract_lists(profiler, ExtractRequest(source=path)) for path in (old, new)]
    without = replace(report[1], lists=())
    changes = module._list_changes(report[0], without)
    assert changes and all(one.removed and not one.added and not one.missing for one in changes)
    changes = module._list_changes(replace(report[0], lists=()), report[1])
    assert changes and all(one.added and not one.removed for one in changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"old": "sh"}, "a compiler is compared with a compiler only"),
        ({"old": "sh", "new": "sh"}, "name some with --conf"),
    ],
)
def test_sides_that_cannot_be_compared(profiler, tmp_path, changes, message):
    call = UpgradeCall(**{"old": str(tmp_path), "new": str(tmp_path), **changes})
    with pytest.raises(UsageError, match=message):
        upgrade(profiler, call)


def test_folders_without_anything_say_what_is_missing(profiler, tmp_path):
    with pytest.raises(UsageError, match=r"no lists of both sides, no instances .* no databases"):
        upgrade(profiler, UpgradeCall(old=str(tmp_path), new=str(tmp_path)))


def answer(status, reason=""):
    unmet = (UnmetRequirement(rule="too-wide", message=reason),) if reason else ()
    return Support(status=status, split_k=1, unmet_requirements=unmet)


@pytest.fixture
def built(profiler, monkeypatch):
    """Two kernels of backward weight, of which the second has more workgroups on a compute unit at last."""
    query = ckprof.InstanceQuery(conf="backward_weight/profiler/nhwgc_fp16", directions="bwd_weight")
    selection = profiler.instances(query).require()
    chosen = [
        one
        for one in selection.candidates
        if one.instance.pipeline == "two_stage" and one.instance.num_groups_to_merge == 1
    ][:3]
    selection = replace(selection, candidates=tuple(chosen))
    first, second, third = chosen

    def inspected(one, workgroups, **changes):
        occupancy = Occupancy(waves_per_simd=workgroups, workgroups_per_cu=workgroups, limited_by="vgpr")
        variant = device_kernel(occupancy=occupancy, **changes)
        return InspectedKernel(name=one.name, key=one.instance.key, variants=(variant,))

    builds = {
        "old": (inspected(first, 2, vgprs=200), inspected(second, 1), inspected(third, 1)),
        "new": (inspected(first, 2, vgprs=180, vgpr_spills=3), inspected(second, 4)),
    }
    answers = {
        "old": {one.instance.key: (answer(AbiStatus.OK),) for one in chosen},
        "new": {
            first.instance.key: (answer(AbiStatus.OK),),
            second.instance.key: (answer(AbiStatus.REJECTED, "too wide"),),
        },
    }

    def inspect(session, selection, build):
        kernels = builds[build.compiler]
        inspection = Inspection(
            target="hip", arch="gfx942", api_level="2025-11", compiler=build.compiler, kernels=kernels
        )
        names = {one.name for one in kernels}
        rejected = [
            SimpleNamespace(candidate=one, reason="register\nallocation failed")
            for one in selection.candidates
            if one.name not in names
        ]
        return inspection, SimpleNamespace(rejected=rejected)

    monkeypatch.setattr(upgrade_changes, "inspect_what_compiles", inspect)
    monkeypatch.setattr(
        upgrade_changes, "support_answers", lambda session, selection, build, queries: answers[build.compiler]
    )
    monkeypatch.setattr(module.shutil, "which", lambda name: name)
    return selection, chosen


def call_of(selection, **changes):
    return UpgradeCall(
        old="old", new="new", selection=selection, problems=(ProblemCase(problem=PROBLEM),), **changes
    )


def automatic(one, workgroups):
    """Splits that fill the device, by the definition: its workgroups over the tiles of the weight."""
    tile = one.instance.tile
    m, n = PROBLEM.out_channels, PROBLEM.in_channels * 9
    tiles = -(-m // tile.m) * -(-n // tile.n) * PROBLEM.groups
    return max(1, workgroups * UNITS // tiles)


def test_code_splits_and_support_of_two_builds(profiler, built):
    selection, (first, second, third) = built
    found = upgrade(profiler, call_of(selection))
    code = {(one.name, one.field): (one.before, one.after, one.worse) for one in found.code}
    assert code == {
        (first.name, "vgprs"): (200, 180, False),
        (first.name, "vgpr_spills"): (0, 3, True),
        (second.name, "occupancy"): (1, 4, False),
    }
    assert [one.values for one in found.of(UpgradePart.KERNELS)] == [
        {"kernel": third.name, "new": False, "reason": "register\nallocation failed"}
    ]
    (split,) = found.of(UpgradePart.SPLITS)
    old, new = automatic(second, 1), automatic(second, 4)
    problem = PROBLEM.describe()
    assert split.values == {"kernel": second.name, "problem": problem, "old": old, "new": new}
    assert old != new
    (support,) = found.of(UpgradePart.SUPPORT)
    assert support.values == {
        "kernel": second.name,
        "problem": problem,
        "split_k": 1,
        "gained": False,
        "reason": "too wide",
    }
    assert found.counts[UpgradePart.WORSE_CODE] == 1 and not found.passed


@pytest.mark.parametrize(
    ("fail_on", "passed"),
    [
        ((), True),
        ((UpgradePart.LISTS, UpgradePart.ROWS), True),
        ((UpgradePart.WORSE_CODE,), False),
        ((UpgradePart.SPLITS,), False),
    ],
)
def test_what_fails_the_gate_is_the_users_choice(profiler, built, fail_on, passed):
    found = upgrade(profiler, call_of(built[0], fail_on=fail_on))
    assert found.passed is passed
    assert verdict(found).endswith("none of which fails the gate") is passed


def test_a_side_that_compiles_nothing_has_lost_every_kernel(profiler, built, monkeypatch):
    selection, chosen = built
    usual = upgrade_changes.inspect_what_compiles

    def nothing_new(session, selection, build):
        inspection, library = usual(session, selection, build)
        return (inspection if build.compiler == "old" else replace(inspection, kernels=())), library

    monkeypatch.setattr(upgrade_changes, "inspect_what_compiles", nothing_new)
    found = upgrade(profiler, call_of(selection, fail_on=(UpgradePart.KERNELS,)))
    assert [one.values["kernel"] for one in found.of(UpgradePart.KERNELS)] == [one.name for one in chosen]
    assert not (found.code or found.of(UpgradePart.SPLITS) or found.passed)


def test_instances_that_no_side_compiles_are_an_error(profiler, built, monkeypatch):
    selection, chosen = built
    empty = Inspection(target="hip", arch="gfx942", api_level="2025-11", compiler="c", kernels=())
    rejected = [SimpleNamespace(candidate=chosen[0], reason="no such\ntile")]
    monkeypatch.setattr(
        upgrade_changes, "inspect_what_compiles", lambda *_: (empty, SimpleNamespace(rejected=rejected))
    )
    with pytest.raises(NothingLeftError, match="neither side has a kernel of the instances: no such"):
        upgrade(profiler, call_of(selection))


def test_rows_whose_kernels_have_changed_are_told(profiler, built, tmp_path):
    selection, (first, second, _) = built
    family = ("bwd_weight", 2, "fp16")
    rows = []
    for number, (one, splits) in enumerate(((first, 2), (second, -1), (second, 2))):
        number_of_line = int(one.source.rpartition(":")[2])
        kernel = next(
            kernel
            for kernel in index().all_of(family)
            if kernel.source == f"backward_weight/profiler/nhwgc_fp16.conf:{number_of_line}"
        )
        problem = replace(PROBLEM, batch=32 + number)
        rows.append(Tuned(problem, "W", "fp16", kernel, splits).perf_row())
    database = tmp_path / "gfx942130.db.txt"
    database.write_text("".join(f"{row}\n" for row in rows))
    found = upgrade(profiler, call_of(selection, databases=(database,)))
    rows = found.of(UpgradePart.ROWS)
    messages = {
        row.values["line"]: row.values["message"] for row in rows if placed(row)[2] == "kernel_changed"
    }
    assert sorted(messages) == [1, 2, 3]
    assert "vgprs 200 -> 180" in messages[1] and "automatic" not in messages[1]
    old, new = automatic(second, 1), automatic(second, 4)
    assert f"occupancy 1 -> 4, automatic splits {old} -> {new}" in messages[2]
    assert "automatic" not in messages[3]
    # no others: kernels are looked up in the same lists for both compilers
    assert len(messages) == len(rows)


def test_reports_hold_every_change(profiler, built):
    selection, _ = built
    found = upgrade(profiler, call_of(selection, fail_on=(UpgradePart.SUPPORT,)))
    values = json.loads(render_json(found))
    assert (values["schema"], values["passed"]) == ("ckprof.upgrade", False)
    assert values["counts"] == {part.value: count for part, count in found.counts.items()}
    assert len(values["code"]) == 3 and values["support"][0]["reason"] == "too wide"
    suite = ElementTree.fromstring(render_junit(found))[0]  # noqa: S314 - made just now
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert (failed, len(suite)) == (["support"], len(UpgradePart))
    text = render_text(found)
    assert "no longer supports" in text and "automatic splits" in text
    assert "register\\nallocation failed" in text
    assert text.rstrip().endswith("1 change fails the gate, 6 in all")


@pytest.fixture
def sides(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    old, new = Tree(tmp_path / "old"), Tree(tmp_path / "new")
    new.tuples(alias(MAIN_ALIAS, element(256, 128), element(128, 32, vector=4)))
    old.write()
    new.write()
    return tmp_path


def test_lists_that_change_fail_the_gate(ckprof, sides):
    done = ckprof("upgrade", "--old", "old", "--new", "new", "-o", "json=u.json", "-o", "junit=u.xml")
    assert done.code == ExitCode.FAILED, done.err
    assert "forward/profiler/nhwgc_fp16.conf: 4 added, 4 removed" in done.out
    assert json.loads((sides / "u.json").read_text())["counts"]["lists"] > 0
    assert "<failure" in (sides / "u.xml").read_text()
    assert ckprof("upgrade", "--old", "old", "--new", "new", "--fail-on", "rows").code == ExitCode.OK
    assert ckprof("upgrade", "--old", "old", "--new", "old").code == ExitCode.OK


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("--old", "old"), ExitCode.USAGE, "--new"),
        (("--old", "old", "--new", "none"), ExitCode.INPUT, "none: is neither a folder"),
        (("--old", "old", "--new", "sh"), ExitCode.USAGE, "with a compiler only"),
        (("--old", "old", "--new", "new", "--fail-on", "all"), ExitCode.USAGE, "expected lists"),
        (("fwd", "--old", "old", "--new", "new"), ExitCode.USAGE, "name some with --conf"),
        (("--old", "old", "--new", "new", "--problem", "conv"), ExitCode.USAGE, "asked about of kernels"),
        (("--old", "old", "--new", "new", "--database", "no"), ExitCode.INPUT, "no: cannot be read"),
        (("--old", "old", "--new", "new", "--rule-set", "default"), ExitCode.USAGE, "needs a DIRECTION"),
        (
            ("--old", "sh", "--new", "sh", "--conf", "forward/tests/nhwgc_fp16", "--compiler", "g++"),
            ExitCode.USAGE,
            "third compiler",
        ),
        (
            ("--old", "old", "--new", "new", "--conf", "forward/tests/nhwgc_fp16", "--ck-root", "new"),
            ExitCode.USAGE,
            "third headers",
        ),
    ],
)
def test_wrong_calls_say_one_thing(ckprof, sides, arguments, code, part):
    done = ckprof("upgrade", *arguments)
    assert (done.code, part in done.err) == (code, True), done.err
    assert "Traceback" not in done.err and done.out == ""
