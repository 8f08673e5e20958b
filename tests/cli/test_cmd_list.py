"""``ckprof list instances``: rule sets, instances by hand, filters, formats, wrong calls."""

import json
from pathlib import Path

import pytest

from ckprof import hookimpl
from ckprof_plugins.pipelines.spec_option import KEYS

FULL = ("list", "instances", "--rule-set", "full", "--arch", "gfx942", "--direction")
HAND = {"tile": "128x128x64", "waves": "2x2x1", "mma": "32x32x16", "gemm_pipeline": "compv4"}


@pytest.fixture
def from_cli(ckprof):
    """List one instance given by its tile; ``None`` leaves a key of it, or an option, out."""

    def call(*further, **changes):
        given = {**HAND, "direction": "fwd", "arch": "gfx942", **changes}
        spec = [f"{key}={value}" for key, value in given.items() if key in KEYS and value is not None]
        flags = [
            part
            for name, value in given.items()
            if name not in KEYS and value is not None
            for part in (f"--{name.replace('_', '-')}", value)
        ]
        options = ("--instance-spec", ",".join(spec), *flags, *further)
        return ckprof("list", "instances", "--format", "names", *options)

    return call


def test_the_valid_ones_are_counted_and_the_others_told(ckprof):
    code, out, err = ckprof(*FULL, "fwd", "--count")
    assert (code, out) == (0, "2537\n")
    assert "skipped 563 that are not valid (540 no-problem, 12 lds-budget, 8 tile-grain, 3 row-access)" in err
    assert ckprof(*FULL, "fwd", "--count", "--upstream-defects")[1] == "3100\n"


def test_several_directions_are_one_call(ckprof):
    arguments = ("list", "instances", "--rule-set", "full-tests", "--arch", "gfx942", "--count")
    assert ckprof(*arguments, "--upstream-defects")[1] == "2356\n"
    assert ckprof(*arguments, "--upstream-defects", "--direction", "fwd,bwd_data,bwd_weight")[1] == "2356\n"
    # every fifth of all that is asked for at once: parts do not add up to the whole
    one_by_one = [
        int(ckprof(*arguments, "--upstream-defects", "--direction", direction)[1])
        for direction in ("fwd", "bwd_data", "bwd_weight")
    ]
    assert one_by_one == [618, 99, 1637]


def test_by_hand(from_cli):
    code, out, _ = from_cli()
    assert (code, out) == (
        0,
        "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_dsb\n",
    )
    changes = {"direction": "bwd_weight", "gemm_pipeline": "mem", "ndim": "3", "stream_k": "tree"}
    _, out, _ = from_cli(**changes, persistent="true")
    assert "bwd_weight_fp16_ndhwgc_3d_mem_" in out
    assert out.endswith("_128x128x64_2x2x1_32x32x16_streamk_tree_persistent\n")


def test_flags_are_real_truth_values(from_cli):
    code, out, err = from_cli("--upstream-defects", pad_m="false")
    assert code == 0 and out.endswith("_dsb_pad011\n")
    code, out, err = from_cli(double_smem_buffer="no")
    assert code == 1 and "compv4 needs double_smem_buffer" in err
    assert from_cli(pad_m="yes")[0] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gemm_pipeline": "compv7"}, "unknown GEMM pipeline 'compv7'; did you mean 'compv"),
        (
            {"tile": "128x128"},
            "--instance-spec tile=128x128: expected three positive numbers such as 128x128x64",
        ),
        ({"waves": None}, "--instance-spec lacks waves"),
        ({"direction": None}, "needs its direction"),
        ({"persistent": "true"}, "persistent goes with stream_k only"),
        ({"stream_k": "tree", "two_stage": "true"}, "stream_k and two_stage contradict each other"),
        ({"stream_k": "bush"}, "unknown stream-K strategy 'bush'"),
        ({"rule_set": "full"}, "--rule-set and an instance given by its tile contradict each other"),
        ({"arch": "gfx924"}, "unknown architecture 'gfx924'; did you mean 'gfx942'?"),
        ({"ndim": "4"}, "--ndim 4: expected 1, 2 or 3"),
        ({"dtype": "fp16,fp16"}, "--dtype: the same value is named twice"),
        ({"merge_groups": "0"}, "num_groups_to_merge is 0, expected 1 or more"),
        ({"merge_groups": "-1"}, "--instance-spec merge_groups=-1: expected a number"),
        ({"pad_m": "maybe"}, "--instance-spec pad_m=maybe: expected true or false"),
        ({"d_layouts": "NHWGK"}, "d_layouts goes with elementwise_op only"),
        ({"layout": "nhwgc"}, "--layout says how a list is read, an instance given by its tile reads none"),
    ],
)
def test_wrong_options(changes, message, from_cli):
    code, out, err = from_cli(**changes)
    assert (code, out) == (2, "") and message in err


def test_an_instance_is_read_from_a_file_and_changed(from_cli, tmp_path):
    path = tmp_path / "instance.json"
    path.write_text(json.dumps({"gemm-pipeline": "mem", "vectors": [4, 4, 2], "pad_m": True}))
    assert from_cli("--instance-spec", path)[1] == from_cli(gemm_pipeline="mem", vectors="4,4,2")[1]
    assert (
        from_cli("--instance-spec", path, "--instance-spec", "gemm_pipeline=compv4,vectors=4,8,8")[1]
        == (from_cli()[1])
    )
    path.write_text("[]")
    code, _, err = from_cli("--instance-spec", path)
    assert code == 3 and "expected one object with the keys of an instance" in err
    path.write_text("{")
    assert from_cli("--instance-spec", path)[0] == 3
    code, _, err = from_cli("--instance-spec", "mine.json")
    assert code == 3 and "mine.json: cannot read" in err
    code, _, err = from_cli("--instance-spec", "4,vectors=4")
    assert code == 2 and "expected KEY=VALUE, got '4'" in err
    code, _, err = from_cli("--instance-spec", "tille=4")
    assert code == 2 and "unknown key of --instance-spec 'tille'; did you mean 'tile'?" in err
    code, _, err = from_cli("--instance-spec", "pipelin=mem")
    assert code == 2 and "did you mean 'pipeline'?" in err
    twice = "--instance-spec: gemm_pipeline is given twice, first as 'mem': name it once"
    path.write_text(json.dumps({"pipeline": "mem", "gemm-pipeline": "compv3"}))
    for spec in (path, "pipeline=mem,pipeline=compv3", "gemm_pipeline=mem,pipeline=mem"):
        code, _, err = from_cli("--instance-spec", spec)
        assert code == 2 and twice in err


def test_former_options_name_the_present_one(ckprof):
    former = ("--tile", "64x64x32", "--no-pad-m", "--gemm-pipeline=mem", "--two-stage", "--vectors", "4,4,4")
    code, out, err = ckprof("list", "instances", "--direction", "fwd", *former)
    assert (code, out) == (2, "")
    spec = "tile=64x64x32,pad_m=false,gemm_pipeline=mem,two_stage=true,vectors=4,4,4"
    assert f"--tile is a key of --instance-spec now: type --instance-spec {spec}\n" in err
    for word in ("run", "generate", "build"):
        assert ckprof(word, "fwd", *former)[::2] == (2, err)


def test_documentation_names_every_key():
    page = (Path(__file__).parents[2] / "docs" / "rule-sets.md").read_text()
    assert all(f"`{key}`" in page or f"`{key}=" in page for key in KEYS)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--rule-set", "ful"), 2, "unknown rule set 'ful'; did you mean 'full'?"),
        (("--rule-set", "tiny", "--conf", "x"), 2, "--conf and --rule-set contradict each other"),
        ((), 2, "no instances: give --conf FILE, --rule-set ID"),
        (("--rule-set", "tiny", "--direction", "forwart"), 2, "unknown direction 'forwart'"),
        (("--rule-set", "tiny", "--direction", "fwd,fwd"), 2, "the same direction is named twice"),
        (("--rule-set", "tiny", "--filter", "tile_q > 1"), 2, "unknown field 'tile_q'"),
        (("--rule-set", "tiny", "--filter", "tile_m > 9999"), 2, "instances passes --instance, --filter"),
        (("--rule-set", "tiny", "--why", "--upstream-defects"), 2, "--why and --upstream-defects contradict"),
        (("--rule-set", "rdna", "--arch", "gfx1201", "--dtype", "fp32"), 1, "it has none for gfx1201"),
        (("--rule-set", "full", "--arch", "gfx1201", "--direction", "bwd_data"), 1, "all 376 are not valid"),
        (("--conf", "forward/tests/nhwgc_fp16", "--ndim", "2"), 2, "--ndim chooses from a rule set"),
    ],
)
def test_wrong_calls(arguments, code, message, ckprof):
    got, out, err = ckprof("list", "instances", *arguments)
    assert got == code and out == "" and message in err


def test_an_empty_set_counts_none_and_fails(ckprof):
    arguments = ("--rule-set", "rdna", "--arch", "gfx1201", "--dtype", "fp32", "--count")
    assert ckprof("list", "instances", *arguments)[:2] == (1, "0\n")


@pytest.mark.parametrize("rule_set", ["profiler", "tests"])
def test_lists_as_rule_sets(rule_set, ckprof):
    arguments = ("list", "instances", "--rule-set", rule_set, "--arch", "gfx950", "--direction", "fwd")
    names = ckprof(*arguments, "--format", "names", "--ndim", "2")[1].splitlines()
    assert len(set(names)) == len(names) > 100
    assert {name.split("_2d_")[0].rpartition("_")[2] for name in names} == {"nhwgc", "ngchw"}


def test_everything_is_listed(ckprof):
    for what, known in {
        "directions": "bwd_weight",
        "pipelines": "implicit_gemm",
        "targets": "cpu",
        "plugins": "ckprof_plugins.directions",
        "lists": "forward/tests/nhwgc_fp16",
        "rule-sets": "full-tests",
        "archs": "gfx1250",
    }.items():
        rows = json.loads(ckprof("list", what, "--format", "json").out)
        name, *_ = rows[0]
        assert known in [row[name] for row in rows], what


PLUGIN = """
from ckprof import hookimpl
from ckprof.model.requirement import UnmetRequirement
from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.rule_sets.full import FullRuleSet


class Handful:
    id = "handful"
    label = "five kernels, one of them a mistake"

    def enumerate(self, request):
        first, *others = [entry for entry in FullRuleSet().enumerate(request) if entry.defect is None][:5]
        mistake = UnmetRequirement(rule="mistake", message="made by hand", found=1, allowed=0)
        return [RuleSetEntry(first.instance, mistake), *others]


@hookimpl
def ckprof_register(registry):
    registry.add(Handful())
"""


def test_a_plugin_brings_a_rule_set(ckprof, tmp_path):
    plugin = tmp_path / "handful.py"
    plugin.write_text(PLUGIN)
    arguments = ("--plugin", plugin, "list", "instances", "--rule-set", "handful", "--arch", "gfx942")
    code, out, err = ckprof(*arguments, "--direction", "fwd", "--count")
    assert (code, out) == (0, "4\n") and "skipped 1 that are not valid (1 mistake)" in err
    assert ckprof(*arguments, "--direction", "fwd", "--count", "--upstream-defects")[1] == "5\n"
    assert "made by hand" in ckprof(*arguments, "--direction", "fwd", "--why")[1]


def test_a_plugin_makes_instances_of_its_own_options(make_instance):
    from ckprof.plugin.manager import PluginManager

    class ByHand:
        @hookimpl
        def ckprof_make_instances(self, directions, dtypes):
            return [make_instance()] if directions else None

    manager = PluginManager()
    manager.register(ByHand(), "mine")
    call = {"arguments": None, "ndims": (2,), "dtypes": ()}
    ((name, instances),) = manager.call("ckprof_make_instances", directions=("fwd",), **call)
    assert name == "mine" and len(instances) == 1
    assert manager.call("ckprof_make_instances", directions=(), **call) == []


def test_a_misspelt_architecture_is_an_error_where_nothing_depends_on_it(ckprof):
    ckprof(
        "run", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--list-instances", "--arch", "gfx94"
    ).fails_with(2, "unknown architecture 'gfx94'; did you mean 'gfx942'?")
