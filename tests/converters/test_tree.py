"""Trees of lists: where catalogs go, what is appended, what is left alone."""

from __future__ import annotations

import json

import pytest

from ckprof.errors import InputError
from ckprof_converters.tree import TreeOptions, convert_tree

from .samples import as_bytes, change, line


@pytest.fixture
def tree(tmp_path, converter):
    """Write lists below ``conf`` and convert them to ``out``."""

    def run(lists, **options):
        for name, lines in lists.items():
            path = tmp_path / "conf" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(as_bytes(*lines))
        dry_run = options.pop("dry_run", False)
        return convert_tree(
            tmp_path / "conf", tmp_path / "out", converter.convert, TreeOptions(**options), dry_run=dry_run
        )

    return run


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
    report = tree(LISTS)
    (catalog,) = report.catalogs
    out = tmp_path / "out" / "backward_weight" / "tests"
    assert catalog.path == out / "nhwgc_bf16.json"
    assert [path.name for path in catalog.sources] == ["nhwgc_bf16.conf", "nhwgc_bf16_streamk.conf"]
    # The largest id of the plain list is 2, so line 3 of the other becomes 2 + 1 + 3.
    assert ids(catalog.path) == [0, 2, 6]
    assert [path.name for path in out.iterdir()] == ["nhwgc_bf16.json"]
    assert report.instances == 3
    assert len(report.conversions) == 2


def test_appended_records_are_not_compared_with_the_others(tree, tmp_path):
    plain = STREAM_K.replace(",1,2,0>", ",0>")
    report = tree(
        {
            "backward_weight/tests/nhwgc_bf16.conf": (plain,),
            "backward_weight/tests/nhwgc_bf16_streamk.conf": (plain,),
        }
    )
    assert ids(report.catalogs[0].path) == [0, 1]


def test_a_lone_stream_k_list_makes_the_catalog_with_its_own_ids(tree):
    report = tree({"backward_weight/p/nhwgc_bf16_streamk.conf": ("# s", STREAM_K)})
    assert report.catalogs[0].path.name == "nhwgc_bf16.json"
    assert ids(report.catalogs[0].path) == [1]


def test_behind_a_list_without_instances_nothing_is_shifted(tree):
    dropped = change(PLAIN, 33, "3")
    report = tree(
        {
            "backward_weight/tests/nhwgc_bf16.conf": (dropped,),
            "backward_weight/tests/nhwgc_bf16_streamk.conf": ("# s", STREAM_K),
        }
    )
    assert ids(report.catalogs[0].path) == [1]


def test_depthwise_lists_give_three_catalogs(tree):
    report = tree({"forward/tests/ngchw_depthwise.conf": (line("depthwise"),)})
    assert [item.path.name for item in report.catalogs] == [
        "ngchw_fp32.json",
        "ngchw_fp16.json",
        "ngchw_bf16.json",
    ]


def test_a_wrong_list_keeps_its_catalogs_from_being_touched(tree, tmp_path):
    lists = {**LISTS, "forward/tests/nhwgc_fp16.conf": (line("forward"),)}
    tree(lists)
    before = (tmp_path / "out/backward_weight/tests/nhwgc_bf16.json").read_bytes()
    lists["backward_weight/tests/nhwgc_bf16_streamk.conf"] = ("nonsense",)
    lists["forward/tests/nhwgc_fp16.conf"] = (line("forward"), line("forward_v3"))
    report = tree(lists)
    assert [error.path.name for error in report.failures] == ["nhwgc_bf16_streamk.conf"]
    assert (tmp_path / "out/backward_weight/tests/nhwgc_bf16.json").read_bytes() == before
    assert [(item.path.name, item.written) for item in report.catalogs] == [("nhwgc_fp16.json", True)]


def test_nothing_is_deleted_and_nothing_is_written_twice(tree, tmp_path):
    other = tmp_path / "out/backward_weight/tests/other.json"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    assert [item.written for item in tree(LISTS).catalogs] == [True]
    assert [item.written for item in tree(LISTS).catalogs] == [False]
    assert other.read_text() == "mine"


def test_a_dry_run_writes_nothing(tree, tmp_path):
    report = tree(LISTS, dry_run=True)
    assert report.instances == 3
    assert not (tmp_path / "out").exists()


def test_a_list_in_the_folder_of_another_direction(tree):
    report = tree({"forward/tests/nhwgc_bf16.conf": (PLAIN,)})
    assert "backward-weight XDL is of direction bwd_weight, expected fwd" in str(report.failures[0])


def test_a_stream_k_list_of_another_type(tree):
    lists = {
        **LISTS,
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


def test_a_folder_without_lists(tree, tmp_path):
    (tmp_path / "conf").mkdir()
    with pytest.raises(InputError, match="no instance list below it"):
        tree({})


def test_options_reach_every_list(tree):
    lists = {"backward_weight/tests/nhwgc_bf16.conf": (PLAIN, f"{TWO_STAGE} # x", "nonsense")}
    report = tree(lists, lenient=True, upstream_comments=True, mma_k_table=(8, 16))
    assert [line.rule for line in report.conversions[0].dropped] == ["comment", "error"]
    assert report.catalogs[0].catalog.records[0].warp_tile_k == 8
