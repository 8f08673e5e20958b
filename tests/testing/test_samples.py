"""Instances of lists, on which objects are tried."""

import pytest

from ckprof.errors import ExitCode
from ckprof.kernels.requests import InstanceQuery
from ckprof.testing.contract import CannotTry

from .conftest import LIST


def test_the_first_valid_instance_of_a_family_is_taken_with_its_record(samples):
    made = samples()
    sample = made.any_sample
    instance = sample.candidate.instance
    assert sample.path == LIST and made.any_sample is sample
    assert sample.query == InstanceQuery(conf=LIST, indices=(sample.candidate.index,))
    assert instance.id in [record.id for record in sample.catalog.records]
    # what a query of it selects is that instance
    (selected,) = made.profiler.instances(sample.query).candidates
    assert selected.instance.key == instance.key
    assert made.of_pipeline(instance.pipeline) == sample


def test_lists_are_looked_through_one_by_one(samples):
    depthwise = LIST.with_name("ngchw_depthwise.conf")
    made = samples(LIST, depthwise)
    assert made.of_pipeline("depthwise").path == depthwise and made.any_sample.path == LIST
    assert [request.path for request in made.requests()] == [LIST, depthwise]
    assert [conversion.path for conversion in made.conversions()] == [LIST, depthwise]
    with pytest.raises(CannotTry, match="no list has a valid one; name a list of its instances") as told:
        samples(LIST).of_pipeline("depthwise")
    assert told.value.exit_code is ExitCode.FAILED


def test_measurements_are_short_and_end_with_the_user_s_timeout(samples):
    made = samples()
    assert 0 < made.options.max_time_s < 0.1
    assert made.options.timeout_s == made.profiler.settings.timeout
