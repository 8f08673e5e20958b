"""Trees of lists: where catalogs go, what is appended, what is left alone."""

import json
from dataclasses import replace
from pathlib import PurePath
from types import SimpleNamespace

import pytest

from ckprof.lists.catalogs import write_outputs
from ckprof.model.conversion import ListReading, ListState

from .samples import as_bytes, change, line


def plan_of(converter, folder, **options):
    """Return what a folder gives."""
    catalogs, lists = converter.plan_tree(folder, ListReading(**options))
    failures = [item.error for item in lists if item.error is not None]
    return SimpleNamespace(catalogs=catalogs, lists=lists, failures=failures)


@pytest.fixture
def tree(tmp_path, converter):
    """Write lists below ``conf`` and convert them, to ``out`` as well."""

    def run(lists, **options):
        for name, lines in lists.items():
            path = tmp_path / "conf" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(as_bytes(*lines))
        plan = plan_of(converter, tmp_path / "conf", **options)
        out = tmp_path / "out"
        write_outputs([replace(item, path=out / item.path) for item in plan.catalogs], out)
        return plan

    return run


def record_ids(plan):
    (planned,) = plan.catalogs
    return [record.id for record in planned.catalog.records]


def ids(path):
    return [record["id"] for record in json.loads(path.read_text())["instances"]]


PLAIN = line("backward_weight", "bf16")
TWO_STAGE = line("backward_weight_two_stage", "bf16")
STREAM_K = line("native_backward_weight", "bf16")
LISTS = {
    "backward_weight/tests/nhwgc_bf16.conf": (PLAIN, "# off", TWO_STAGE, PLAIN),
    "backward_weight/tests/nhwgc_bf16_streamk.conf": ("# s", "# k", "# !", STREAM_K),
}


def test_stream_k_records_follow_with_shifted_ids(tree, tmp_path):
    plan = tree(LISTS)
    (catalog,) = plan.catalogs
    out = tmp_path / "out" / "backward_weight" / "tests"
    assert catalog.path == PurePath("backward_weight/tests/nhwgc_bf16.json")
    assert [path.name for path in catalog.sources] == ["nhwgc_bf16.conf", "nhwgc_bf16_streamk.conf"]
    # The largest id of the plain list is 2, so line 3 of the other becomes 2 + 1 + 3.
    assert ids(out / "nhwgc_bf16.json") == [0, 2, 6]
    assert [path.name for path in out.iterdir()] == ["nhwgc_bf16.json"]
    assert [item.state for item in plan.lists] == [ListState.CONVERTED] * 2


def test_appended_records_are_not_compared_with_the_others(tree, tmp_path):
    plain = STREAM_K.replace(",1,2,0>", ",0>")
    plan = tree(
        {
            "backward_weight/tests/nhwgc_bf16.conf": (plain,),
            "backward_weight/tests/nhwgc_bf16_streamk.conf": (plain,),
        }
    )
    assert record_ids(plan) == [0, 1]


def test_a_lone_stream_k_list_makes_the_catalog_with_its_own_ids(tree):
    plan = tree({"backward_weight/p/nhwgc_bf16_streamk.conf": ("# s", STREAM_K)})
    assert plan.catalogs[0].path.name == "nhwgc_bf16.json"
    assert record_ids(plan) == [1]


def test_behind_a_list_without_instances_nothing_is_shifted(tree):
    dropped = change(PLAIN, 33, "3")
    plan = tree(
        {
            "backward_weight/tests/nhwgc_bf16.conf": (dropped,),
            "backward_weight/tests/nhwgc_bf16_streamk.conf": ("# s", STREAM_K),
        }
    )
    assert record_ids(plan) == [1]


def test_depthwise_lists_give_three_catalogs(tree):
    plan = tree({"forward/tests/ngchw_depthwise.conf": (line("depthwise"),)})
    assert [item.path.name for item in plan.catalogs] == [
        "ngchw_fp32.json",
        "ngchw_fp16.json",
        "ngchw_bf16.json",
    ]


def test_the_first_wrong_list_ends_the_plan(tree, tmp_path):
    lists = {**LISTS, "forward/tests/nhwgc_fp16.conf": (line("forward"),)}
    tree(lists)
    before = (tmp_path / "out/backward_weight/tests/nhwgc_bf16.json").read_bytes()
    lists["backward_weight/tests/a.conf"] = (PLAIN,)
    lists["backward_weight/tests/nhwgc_bf16_streamk.conf"] = ("nonsense", "more of it")
    lists["forward/tests/nhwgc_fp16.conf"] = (line("forward"), line("forward_v3"))
    plan = tree(lists)
    assert [(item.path.name, item.state) for item in plan.lists] == [
        ("a.conf", ListState.CONVERTED),
        ("nhwgc_bf16_streamk.conf", ListState.FAILED),
        ("nhwgc_bf16.conf", ListState.NOT_REACHED),
        ("nhwgc_fp16.conf", ListState.NOT_REACHED),
    ]
    (failure,) = plan.failures
    assert [diagnostic.line for diagnostic in failure.diagnostics] == [1, 2]
    assert (tmp_path / "out/backward_weight/tests/nhwgc_bf16.json").read_bytes() == before
    assert ids(tmp_path / "out/forward/tests/nhwgc_fp16.json") == [0]
    assert [item.path.name for item in plan.catalogs] == ["a.json"]


def test_nothing_is_deleted_and_nothing_is_written_twice(tree, tmp_path):
    other = tmp_path / "out/backward_weight/tests/other.json"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    tree(LISTS)
    written = tmp_path / "out/backward_weight/tests/nhwgc_bf16.json"
    stamp = written.stat().st_mtime_ns
    tree(LISTS)
    assert written.stat().st_mtime_ns == stamp
    assert other.read_text() == "mine"


def test_a_list_in_the_folder_of_another_direction(tree):
    plan = tree({"forward/tests/nhwgc_bf16.conf": (PLAIN,)})
    assert "backward-weight XDL is of direction bwd_weight, expected fwd" in str(plan.failures[0])


def test_a_stream_k_list_of_another_type(tree):
    lists = {
        "backward_weight/tests/my.conf": (PLAIN,),
        "backward_weight/tests/my_streamk.conf": (line("native_backward_weight", "fp16"),),
    }
    (failure,) = tree(lists).failures
    assert failure.path.name == "my_streamk.conf"
    assert failure.message == (
        "is bwd_weight nhwgc fp16, but my.conf, to which it belongs, is bwd_weight nhwgc bf16"
    )


def test_two_lists_with_the_same_catalog(tree):
    lists = {
        "forward/tests/ngchw_depthwise.conf": (line("depthwise"),),
        "forward/tests/ngchw_fp16.conf": (line("depthwise"),),
    }
    (failure,) = tree(lists).failures
    assert "gives the same catalog" in str(failure)


def test_a_folder_without_lists(tree, tmp_path, converter):
    (tmp_path / "conf").mkdir()
    assert converter.plan_tree(tmp_path / "conf", ListReading()) is None


@pytest.mark.parametrize("lines", [("# switched off",), (line("short_backward_data"),), ("",)])
def test_lists_without_any_instance(tree, lines):
    """As upstream's converter, and so that the catalog on disk does not stay what it was."""
    plan = tree({"backward_data/tests/nhwgc_bf16.conf": lines})
    if not lines[0]:
        assert "all 1 lines are blank" in str(plan.failures[0])
        return
    (planned,) = plan.catalogs
    assert (planned.catalog.variant, planned.catalog.layout.name) == ("bwd_data", "nhwgc")
    assert planned.catalog.records == ()


def test_lists_in_no_direction_folder_say_their_direction_themselves(tree):
    plan = tree({"mine.conf": (PLAIN,), "more/other.conf": (line("backward_data"),)})
    assert [(item.path, item.catalog.variant) for item in plan.catalogs] == [
        (PurePath("mine.json"), "bwd_weight"),
        (PurePath("more/other.json"), "bwd_data"),
    ]


def test_a_list_of_several_directions_gives_a_catalog_for_each(tree):
    plan = tree({"all.conf": (line("forward"), line("backward_data"))})
    assert [item.path.name for item in plan.catalogs] == [
        "nhwgc_fp16_forward.json",
        "nhwgc_fp16_bwd_data.json",
    ]


@pytest.mark.parametrize("part", ["forward", "forward/tests"])
def test_a_part_of_a_tree(tree, tmp_path, converter, part):
    tree({"forward/tests/nhwgc_fp16.conf": (line("forward"),)})
    plan = plan_of(converter, tmp_path / "conf" / part)
    assert plan.lists[0].request.direction == "fwd"
    (planned,) = plan.catalogs
    assert planned.path == PurePath("forward/tests/nhwgc_fp16.json").relative_to(part)


def test_links_to_folders_are_not_followed_but_told(tree, tmp_path):
    (tmp_path / "conf" / "forward").mkdir(parents=True)
    (tmp_path / "conf" / "forward" / "round").symlink_to(tmp_path / "conf")
    plan = tree(LISTS)
    assert (plan.lists[0].path.name, plan.lists[0].state) == ("round", ListState.SKIPPED)
    assert len(plan.catalogs) == 1


def test_options_reach_every_list(tree):
    lists = {"backward_weight/tests/nhwgc_bf16.conf": (PLAIN, f"{TWO_STAGE} # x", "nonsense")}
    plan = tree(lists, lenient=True, upstream_comments=True, mma_k_table=(8, 16))
    assert [why.rule for why in plan.lists[0].conversion.dropped.values()] == ["comment", "error"]
    assert plan.catalogs[0].catalog.records[0].warp_tile_k == 8
