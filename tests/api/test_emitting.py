"""Chosen kernels as lists: every command reads the same kernels again."""

from __future__ import annotations

from pathlib import Path

import pytest

import ckprof
from ckprof.errors import InputError, UsageError
from ckprof.model.dtype import DataType

QUERIES = {
    "a shipped list": ckprof.InstanceQuery(conf="backward_weight/profiler/nhwgc_bf16"),
    "a rule set": ckprof.InstanceQuery(
        rule_set="full", directions="bwd_weight", arch="gfx942", ndims=(2,), dtypes=(DataType.BF16,)
    ),
}


@pytest.fixture(scope="module")
def profiler() -> ckprof.Profiler:
    return ckprof.Profiler()


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("suffix", [".conf", ".json"])
def test_lists_and_catalogs_give_the_same_kernels(
    profiler: ckprof.Profiler, name: str, suffix: str, tmp_path: Path
) -> None:
    selection = profiler.instances(QUERIES[name])
    chosen = selection.candidates[:: max(1, len(selection.candidates) // 40)]
    emitted = profiler.list_text(selection, [one.name for one in chosen])
    path = tmp_path / f"chosen{suffix}"
    path.write_text(emitted.content(path))
    again = profiler.instances(ckprof.InstanceQuery(conf=path))
    assert [one.instance.key for one in again.candidates] == [one.instance.key for one in chosen]
    assert emitted.kernels == len(chosen)


def test_what_cannot_be_said_is_an_error(profiler: ckprof.Profiler, tmp_path: Path) -> None:
    selection = profiler.instances(QUERIES["a shipped list"])
    with pytest.raises(InputError, match="absent is not among the"):
        profiler.list_text(selection, ["absent"])
    depthwise = profiler.instances(
        ckprof.InstanceQuery(
            rule_set="full", directions="fwd", arch="gfx942", ndims=(2,), pipelines="depthwise"
        )
    )
    with pytest.raises(InputError, match="no spelling in a list"):
        profiler.list_text(depthwise, [depthwise.candidates[0].name])
    nothing = profiler.list_text(selection, [])
    assert nothing.text == ""
    with pytest.raises(UsageError, match="0 catalogs"):
        nothing.content(tmp_path / "x.json")
