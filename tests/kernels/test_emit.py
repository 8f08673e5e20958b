"""Chosen kernels as lists: every command reads the same kernels again."""

import pytest

import ckprof
from ckprof.errors import InputError, UsageError
from ckprof.model.types import DataType

QUERIES = {
    "a shipped list": ckprof.InstanceQuery(conf="backward_weight/profiler/nhwgc_bf16"),
    "a rule set": ckprof.InstanceQuery(
        rule_set="full", directions="bwd_weight", arch="gfx942", ndims=(2,), dtypes=(DataType.BF16,)
    ),
    "operations": ckprof.InstanceQuery(conf="forward/scaleadd_scaleadd_relu/tests/ndhwgc_fp16"),
}


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("suffix", [".conf", ".json"])
def test_lists_and_catalogs_give_the_same_kernels(profiler, name, suffix, tmp_path):
    selection = profiler.instances(QUERIES[name])
    chosen = selection.candidates[:: max(1, len(selection.candidates) // 40)]
    emitted = profiler.list_text(selection, [one.name for one in chosen])
    path = tmp_path / f"chosen{suffix}"
    path.write_text(emitted.files(path)[path])
    again = profiler.instances(ckprof.InstanceQuery(conf=path))
    assert [one.instance.key for one in again.candidates] == [one.instance.key for one in chosen]
    assert emitted.kernels == len(chosen)


def test_what_cannot_be_said_is_an_error(profiler, tmp_path):
    selection = profiler.instances(QUERIES["a shipped list"])
    with pytest.raises(InputError, match="absent is not among the"):
        profiler.list_text(selection, ["absent"])
    nothing = profiler.list_text(selection, [])
    assert nothing.text == ""
    with pytest.raises(UsageError, match="0 catalogs"):
        nothing.files(tmp_path / "x.json")


DEPTHWISE = {
    "a rule set": ckprof.InstanceQuery(
        rule_set="full",
        directions="fwd",
        arch="gfx942",
        ndims=(2,),
        pipelines="depthwise",
        dtypes=(DataType.BF16,),
    ),
    # each line of which stands for kernels of three types
    "a shipped list": ckprof.InstanceQuery(conf="forward/tests/ngchw_depthwise"),
}


@pytest.mark.parametrize("name", DEPTHWISE)
def test_what_no_line_says_is_written_as_a_catalog(profiler, name, tmp_path):
    selection = profiler.instances(DEPTHWISE[name])
    chosen = [one for one in selection.candidates if one.instance.dtype is DataType.BF16][:7]
    emitted = profiler.list_text(selection, [one.name for one in chosen])
    assert (emitted.text, emitted.kernels) == ("", len(chosen))
    for asked in ("x.conf", "x.json"):
        (path, content), *others = emitted.files(tmp_path / asked).items()
        assert path == tmp_path / "x.json" and not others
        path.write_text(content)
        again = profiler.instances(ckprof.InstanceQuery(conf=path))
        assert [one.instance.key for one in again.candidates] == [one.instance.key for one in chosen]


def test_kernels_of_both_kinds_make_two_files(profiler, tmp_path):
    selection = profiler.instances(
        ckprof.InstanceQuery(
            rule_set="full", directions="fwd", arch="gfx942", ndims=(2,), dtypes=(DataType.BF16,)
        )
    )
    chosen = [selection.candidates[0], selection.candidates[-1]]
    assert {one.instance.pipeline for one in chosen} == {"implicit_gemm", "depthwise"}
    emitted = profiler.list_text(selection, [one.name for one in chosen])
    found = {}
    for path, content in emitted.files(tmp_path / "x.conf").items():
        path.write_text(content)
        (found[path.name],) = profiler.instances(ckprof.InstanceQuery(conf=path)).candidates
    assert [found[name].instance.key for name in ("x.conf", "x.json")] == [one.instance.key for one in chosen]
    with pytest.raises(UsageError, match="the kernels make 2 catalogs"):
        emitted.files(tmp_path / "x.json")
