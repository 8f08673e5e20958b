"""Questions about support: random ones, where two libraries disagree, libraries that cannot be asked."""

import os
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof import InstanceQuery, Profiler
from ckprof.errors import PluginError, ToolchainError
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions
from ckprof.measure import support
from ckprof.measure.requests import SupportRequest
from ckprof.measure.support import (
    SupportReport,
    build_checked_library,
    build_needed_library,
    check_support,
    for_kernels,
    query_instance_strings,
    query_library,
    random_queries,
)
from ckprof.measure.worker.messages import AbiStatus, Support, SupportQuery
from ckprof.model.requirement import UnmetRequirement
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.operations.gemm.operation import Gemm
from tests.plugins.pipelines.universal_gemm.products import FAMILY, make_product

from .fakes import make_problem
from .run_instances import built, session_with


def test_random_questions_are_the_same_for_the_same_seed():
    first = random_queries(50, 2, 7, Forward())
    assert first == random_queries(50, 2, 7, Forward())
    assert first != random_queries(50, 2, 8, Forward())
    assert len({query.problem for query in first}) > 40


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_random_questions_are_well_formed_and_varied(ndim):
    queries = random_queries(300, ndim, 0, Forward())
    assert len(queries) == 300
    for query in queries:
        assert query.problem.ndim == ndim
        assert min(query.problem.output) >= 1
    # conditions of all kinds are met by some and not by others
    met = [all(length == 1 for length in query.problem.filter) for query in queries]
    assert 0 < sum(met) < 300
    splits = Counter(query.split_k for query in queries)
    assert set(splits) == {1, 2, 4} and 160 < splits[1] < 200, "three of five have no splits"
    assert {query.problem.in_channels % 8 == 0 for query in queries} == {True, False}


def test_kernels_are_asked_about_what_they_compute():
    queries = random_queries(5, 0, 3, Gemm())
    kernels = [make_product(), make_product(elementwise_op="MultiDAdd", num_d_tensors=2)]
    found = for_kernels(queries, [SimpleNamespace(pipeline=FAMILY, instance=one) for one in kernels])
    assert [type(one.problem).__name__ for one in found] == [
        *("GemmProblem", "MultiDProblem", "GemmProblem", "MultiDProblem", "GemmProblem")
    ]
    assert found[::2] == queries[::2]
    for old, new in zip(queries, found, strict=True):
        assert (new.problem.m, new.problem.n, new.problem.k, new.split_k) == (
            *(old.problem.m, old.problem.n, old.problem.k, old.split_k),
        )


def candidate(key):
    return SimpleNamespace(instance=SimpleNamespace(key=key))


YES, NO = (
    Support(status=status, split_k=1, unmet_requirements=unmet)
    for status, unmet in (
        (AbiStatus.OK, ()),
        (AbiStatus.REJECTED, (UnmetRequirement(rule="c", message="C = 3"),)),
    )
)


def test_an_answer_says_whether_and_why_not():
    assert (YES.supported, YES.reason) == (True, "")
    assert (NO.supported, NO.reason) == (False, "C = 3")


def table(model):
    return SupportReport(
        library=None,
        given=0,
        queries=tuple(random_queries(2, 2, 0, Forward())),
        candidates=(candidate("a"), candidate("b")),
        answers={"a": (YES, NO), "b": (YES, YES)},
        model=model,
    )


def test_disagreements_are_found():
    found = table({"a": (YES, YES), "b": (YES, NO)}).disagreements()
    assert [(one.instance.key, index) for one, index in found] == [("a", 1), ("b", 1)]
    assert table({"a": (YES, NO), "b": (YES, YES)}).disagreements() == []
    assert table(None).disagreements() == []
    assert table(None).supporters(1) == 1


def test_a_check_succeeds_where_both_agree_and_each_given_problem_is_served():
    same, other = {"a": (YES, NO), "b": (YES, YES)}, {"a": (YES, YES), "b": (YES, NO)}
    built, failed = SimpleNamespace(path="lib.so"), SimpleNamespace(path=None)
    refused = {"a": (NO, NO), "b": (NO, YES)}
    for changes, succeeded in (
        ({}, True),
        ({"model": same, "given": 2}, True),
        ({"model": other}, False),
        ({"library": failed}, False),
        ({"answers": refused}, True),
        ({"answers": refused, "given": 1}, False),
    ):
        assert replace(table(None), **{"library": built, **changes}).succeeded is succeeded, changes


def test_a_library_that_cannot_be_loaded_is_told(tmp_path):
    path = tmp_path / "lib.so"
    path.write_text("no library")
    (query,) = random_queries(1, 2, 0, Forward())
    with pytest.raises(ToolchainError, match="cannot be asked: cannot load kernel library"):
        query_library(path, "gfx942", [SupportQuery(problem=query.problem, split_k=1)])


@pytest.mark.compiler
def test_kernels_answer_for_themselves(library):
    keys = ["ok", "support_crashes", "unsupported", "missing", "slow", "ok"]
    texts, failures = query_instance_strings(library, keys)
    assert texts == {"ok": "FakeKernel<0>", "slow": "FakeKernel<3>"}
    assert set(failures) == {"support_crashes", "unsupported", "missing"}
    assert "SIGABRT" in failures["support_crashes"]
    assert failures["unsupported"] == "no text for this one"


def test_nothing_asked_and_no_library(library, tmp_path):
    assert query_instance_strings(library, []) == ({}, {})
    with pytest.raises(ToolchainError, match=r"no\.so"):
        query_instance_strings(tmp_path / "no.so", ["ok"])


TEXTS = {"ok": "FakeKernel<0>", "slow": "FakeKernel<3>", "unsupported": "whatever: the kernel gives none"}


@pytest.fixture
def made(library, tmp_path, monkeypatch):
    """Have a build give the fake library, whose pipelines give some texts; return what was built, and it."""
    path = tmp_path / "libfake.so"
    path.write_bytes(library.read_bytes())

    def call(texts, target="cpu"):
        methods = {"instance_string": lambda one: texts[one.kernel], "name_parts": lambda one: ()}
        pipeline = SimpleNamespace(id="implicit_gemm", **methods)
        whole = built(path, list(texts))
        candidates = tuple(replace(one, pipeline=pipeline) for one in whole.built)
        candidates = tuple(
            replace(one, instance=replace(one.instance, direction="fwd")) for one in candidates
        )
        whole = replace(
            whole, candidates=candidates, built=candidates, recipe=replace(whole.recipe, target=target)
        )
        monkeypatch.setattr(support, "build_library", lambda *given: whole)
        return whole

    return call


def test_what_no_problem_of_a_request_needs_is_built_only_into_a_folder_of_the_users(monkeypatch, tmp_path):
    profiler = Profiler()
    lists = ("forward/tests/nhwgc_fp16", "forward/tests/nhwgc_bf16")
    line = "convbfp16 -n 1 -c 8 -H 4 -W 4 -k 8 -y 1 -x 1 -F 1"
    requested = profiler.plan(InstanceQuery(conf=lists), [line])
    every = requested.selection.candidates
    asked = []

    def build(session, selection, options, purpose):
        asked.append(selection.candidates)
        return replace(built(None, []), candidates=selection.candidates)

    monkeypatch.setattr(support, "build_library", build)
    of_user = replace(requested, build=BuildOptions(build_dir=tmp_path))
    no_problem = replace(requested, problems=())
    for one in (requested, of_user, no_problem):
        # kernels that were not built have outcomes as well
        assert build_needed_library(profiler, one).candidates == every
    needed = tuple(one for one in every if one.instance.dtype.value == "bf16")
    assert asked == [needed, every, every] and 0 < len(needed) < len(every)


@pytest.mark.compiler
def test_texts_of_kernels_are_compared_once_per_link(made, monkeypatch):
    whole = made(TEXTS)
    asked = []

    def query(*given):
        asked.append(given[1])
        return query_instance_strings(*given)

    monkeypatch.setattr(support, "query_instance_strings", query)
    session = session_with()
    for changed, count in ((False, 1), (False, 1), (True, 2)):
        if changed:
            os.utime(whole.path, ns=(1, 1))
        assert build_checked_library(session, None, None) is whole and len(asked) == count
    assert asked[0] == [*TEXTS]
    unbuilt = replace(whole, path=None)
    monkeypatch.setattr(support, "build_library", lambda *given: unbuilt)
    assert build_checked_library(session, None, None) is unbuilt and len(asked) == 2


@pytest.mark.compiler
def test_another_text_is_an_error_that_names_both(made):
    made({**TEXTS, "slow": "FakeKernel<4>"})
    with pytest.raises(
        PluginError, match=r"pipeline 'implicit_gemm': instance_string gives\n  FakeKernel<4>\n"
    ) as raised:
        build_checked_library(session_with(), None, None)
    assert "pipeline 'implicit_gemm': " in str(raised.value)
    assert str(raised.value).endswith("of the kernel fake_slow gives\n  FakeKernel<3>")


@pytest.mark.compiler
def test_kernels_of_a_build_are_asked(made, monkeypatch):
    whole = made(dict.fromkeys(("ok", "slow"), ""))
    selection = Selection(conversions=(), candidates=whole.candidates, source="s")
    queries = (SupportQuery(make_problem(), 2), SupportQuery(make_problem(), -1))
    request = SupportRequest(selection=selection, build=BuildOptions(), queries=queries)
    # the library has kernels that end whoever asks them
    with pytest.raises(ToolchainError, match=r"libfake\.so: cannot be asked: the worker "):
        check_support(session_with(), request)
    monkeypatch.setattr(support, "query_library", lambda path, arch, asked: {"slow": (YES, NO)})
    report = check_support(session_with(), request)
    assert (report.given, report.model, report.queries) == (2, None, queries)
    assert report.candidates == whole.built[1:] and [report.supporters(index) for index in (0, 1)] == [1, 0]
