"""Choices on measured tables reach what the model promises, on problems that it has not seen."""

from dataclasses import replace
from statistics import median

import pytest

from ckprof.errors import InputError, NothingLeftError
from ckprof.model.gemm_work import KernelTraits
from ckprof_plugins.tuning.cmd_validate import validation_document, validation_values
from ckprof_plugins.tuning.time_model import selector as selector_module
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.time_model.model import Provenance, distance, weights
from ckprof_plugins.tuning.time_model.model_file import read_model, render_model
from ckprof_plugins.tuning.time_model.program import form_of
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.validation import judged_model, summarise
from plugins.tuning.tests.sizes import forward_sizes, forward_with_runs
from plugins.tuning.tests.time_model.conftest import fitted
from plugins.tuning.tests.time_model.figures import halves_by_work, of_kernels, some_kernels


def judge(model, table, training=None):
    return judged_model(model, table, forward_sizes, training=training)


def test_unseen_problems_and_unseen_kernels(model_20, table_20, table_30):
    found = judge(model_20, table_30, table_20)
    assert len(found.derived) == 10
    assert found.model.mean >= 0.978
    assert found.model.median >= 0.998
    assert found.model.p10 >= 0.93
    assert found.best_of_top.mean >= 0.994
    assert found.nearest_neighbour is not None
    assert found.ceiling is not None
    assert found.best_single.mean < found.nearest_neighbour.mean < found.model.mean < found.ceiling.mean


def test_problems_without_a_measured_kernel_are_named(model_20, table_30):
    times = {key: time for key, time in table_30.times.items() if key[0] != 3}
    (whole, rest) = judge(model_20, table_30), judge(model_20, replace(table_30, times=times))
    lost = table_30.problems[3]
    assert whole.unserved == () and rest.unserved == (lost,)
    assert len(rest.shapes) == len(whole.shapes) - 1
    assert validation_values(rest)["unserved"] == [lost.describe()]
    text = validation_document(rest).text()
    total = len(whole.shapes)
    assert not (whole.seen or rest.seen) and "trained on these times" not in text
    seen = judge(replace(model_20, origin=Provenance(digest=table_30.digest)), table_30)
    assert validation_values(seen)["seen"] is True
    assert "the model was trained on these times" in validation_document(seen).text()
    assert f"nothing to choose: 1 of {total} problems\n  {lost.describe()}\n" in text
    assert "served by no kernel" not in validation_document(whole).text()
    assert judge(model_20, merged((replace(table_30, times=times),))).unserved == (lost,)


def test_unseen_problems_of_known_kernels(model_20, table_20, table_30):
    assert judge(model_20, of_kernels(table_30, table_20)).model.mean >= 0.973


@pytest.mark.slow
def test_cross_validation_over_both_tables(table_20, table_30):
    count = len(table_30.problems)
    values = []
    for fold in range(4):
        held = table_30.subset(tuple(range(fold, count, 4)))
        rest = table_30.subset(tuple(index for index in range(count) if index % 4 != fold))
        model = fitted(merged((table_20, rest)))
        values += [one.efficiency for one in judge(model, held).shapes]
    found = summarise(values)
    assert found.mean >= 0.978
    assert found.p10 >= 0.93


@pytest.mark.parametrize(
    ("small", "least", "p10"),
    [(True, 0.92, 0.75), pytest.param(False, 0.91, 0.72, marks=pytest.mark.thorough)],
)
def test_half_of_the_sizes_beats_a_nearest_neighbour(table_30, small, least, p10):
    training, other = halves_by_work(table_30, forward_with_runs)[:: 1 if small else -1]
    found = judge(fitted(training), other, training)
    assert found.model.mean >= max(least, found.nearest_neighbour.mean)
    assert found.model.p10 >= p10


def test_training_and_cross_validation_need_enough_problems(table_30):
    table = some_kernels(table_30, 5)
    assert fitted(table.subset(tuple(range(31)))).quality is None
    assert 0.8 < fitted(table.subset(tuple(range(32)))).quality.mean < 1
    with pytest.raises(InputError, match="7 problems to train on: too few, expected 8"):
        fitted(table_30.subset(tuple(range(7))))


def test_the_fast_choice_is_the_first_of_the_ranking(model_both, table_30):
    selector = Selector(model_both, table_30.kernels, forward_sizes)
    for problem in table_30.problems:
        ranking = selector.rank(problem)
        first = ranking[0]
        assert selector.best(problem) == (first.kernel, first.splits)
        times = [one.time_us for one in ranking]
        assert times == sorted(times)
        sizes = forward_sizes(problem)
        for one in ranking[::7]:
            kernel = model_both.kernels[one.kernel]
            assert model_both.time_us(kernel, sizes) == pytest.approx(one.time_us, rel=1e-12)
            assert 0 < one.uncertainty < 1


def test_the_form_of_problems_is_found_once(model_both, table_30, monkeypatch):
    asked = []
    monkeypatch.setattr(selector_module, "form_of", lambda problem: asked.append(problem) or form_of(problem))
    selector = Selector(model_both, table_30.kernels, forward_sizes)
    for problem in table_30.problems:
        selector.best(problem)
    assert asked == [table_30.problems[0]]


def test_only_supported_kernels_are_ranked(model_both, table_30):
    selector = Selector(model_both, table_30.kernels, forward_sizes)
    problem = table_30.problems[0]
    asked = []

    def supported(name, splits):
        asked.append(name)
        return name.endswith("compv4")

    ranking = selector.rank(problem, top=2, supported=supported)
    assert len(ranking) == 2
    assert all(one.kernel.endswith("compv4") for one in ranking)
    # nothing is asked about once enough have been found
    assert len(asked) < 30
    with pytest.raises(NothingLeftError):
        Selector(model_both, [], forward_sizes)


def test_the_number_of_splits_is_chosen(model_both, table_30):
    kernel = model_both.kernels["64x64x64_compv3"]
    choices = [(kernel.name, splits) for splits in (1, 2, 4, 8, 16)]
    selector = Selector(model_both, {kernel.name: kernel.traits}, forward_sizes, choices=choices)
    chosen = {problem: selector.best(problem)[1] for problem in table_30.problems}
    # one tile with a long reduction is split; a result of many tiles is not
    long = next(one for one in chosen if one.batch == 2 and one.in_channels == 1280 and one.input == (8, 8))
    large = next(one for one in chosen if one.input == (640, 640))
    assert chosen[long] >= 8
    assert chosen[large] == 1


def test_a_problem_outside_the_range_says_so(model_20, table_20, table_30):
    selector = Selector(model_20, table_20.kernels, forward_with_runs)
    tiny = next(one for one in table_30.problems if one.batch * one.input[0] * one.input[1] == 1)
    ranking = selector.rank(tiny)
    warnings = selector.warnings(tiny, ranking)
    assert any(line.startswith("m = 1 is outside the trained range 49 to") for line in warnings)
    ranked = [(one, selector.rank(one)) for one in table_30.problems]
    usual = [of for one, of in ranked if not selector.warnings(one, of)]
    assert 40 < len(usual) < 86
    assert ranking[0].uncertainty > 2 * median(one[0].uncertainty for one in usual)


def test_kernels_of_other_labels_speak_alone():
    def traits(m, label, stages=1):
        return KernelTraits(tile=(m, 64, 64), lds_stages=stages, labels=(label,))

    known = [traits(64, "a"), traits(64, "b", 2), traits(128, "a"), traits(32, "a")]
    assert distance(known[0], known[0]) == 0
    assert distance(known[0], known[2]) == pytest.approx(1)
    # another number of stages is farther than another label
    assert weights(traits(64, "c"), known) == {0: 1.0}
    shares = weights(traits(256, "a"), known)
    assert sum(shares.values()) == pytest.approx(1)
    assert max(shares, key=shares.__getitem__) == 2


def write(model, path):
    path.write_text(render_model(model))


def test_model_files_come_back_the_same(model_20, tmp_path):
    path = tmp_path / "model.json"
    write(model_20, path)
    assert read_model(path) == model_20


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"version": 4', '"version": 5', "version 5"),
        ('"schema": "ckprof', '"schema": "other', "expected schema"),
        ('"compute_units": 256', '"compute_units": 0', "must be positive"),
        ('"tail": 0.', '"tail": 7.', "tail"),
        ('"device"', '"devise"', "not a model"),
        ('"rows": ', '"rows": -', "kernel 16x64x64_compv3"),
        ('"trend": [', '"trend": [\n    -1.0,', "kernel 16x64x64_compv3: trend"),
        ('"middle": [', '"middle": [\n  -1.0,', "middle must hold"),
        ('"batch": [\n   1.0', '"batch": [\n   2.0', "ranges"),
    ],
)
def test_wrong_model_files(model_20, tmp_path, old, new, message):
    path = tmp_path / "model.json"
    write(model_20, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_model(path)


def test_kernels_that_do_the_same_are_measured_once(model_20, table_30):
    kernel = model_20.kernels["64x64x64_compv3"]
    other = model_20.kernels["128x128x64_compv3"]
    offered = {**dict.fromkeys(("a", "b", "c"), kernel.traits), other.name: other.traits}
    selector = Selector(model_20, offered, forward_sizes)
    small = next(one for one in table_30.problems if one.batch * one.input[0] * one.input[1] < 200)
    assert [one.kernel for one in selector.rank(small, top=3)] == ["a", "b", "c"]
    distinct = selector.rank(small, top=3, distinct=True)
    assert [one.kernel for one in distinct] == ["a", other.name, "b"]
    supported = selector.rank(small, distinct=True, supported=lambda name, _: name != "a")
    assert [one.kernel for one in supported] == ["b", other.name, "c"]
