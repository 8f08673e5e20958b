"""Comparisons of strings: what they count, and what fails them."""

from dataclasses import replace

from ckprof.model.parity import DEFAULT_FAIL_ON, ParityFinding, ParityReport
from tests.report.test_parity_text import EMPTY, FINE, FULL


def test_findings_are_counted_by_instance():
    copies = replace(FULL.duplicates[0], sources=("a", "b", "c", "d"))
    counts = replace(FULL, duplicates=(*FULL.duplicates, copies)).counts
    # one copy is superfluous, and three are
    assert [*counts.values()] == [1, 1, 4, 1, 1] and [*counts] == [*ParityFinding]
    assert (FULL.matched, FINE.matched, EMPTY.matched) == (1, 1, 0)
    assert (FULL.compared, EMPTY.compared) == (True, False)
    assert replace(EMPTY, second_count=1).compared and replace(EMPTY, first_count=1).compared


def test_what_was_asked_for_fails():
    lossy = replace(FINE, lossy=FULL.lossy)
    assert FULL.failed(DEFAULT_FAIL_ON) and not lossy.failed(DEFAULT_FAIL_ON)
    for finding in ParityFinding:
        assert FULL.failed((finding,)) and not FINE.failed((finding,))
        assert lossy.failed((finding,)) is (finding is ParityFinding.LOSSY)

    def passed(fail_on, *comparisons):
        return ParityReport(revision="r", fail_on=fail_on, comparisons=comparisons).passed

    assert passed(DEFAULT_FAIL_ON, FINE, lossy) and not passed(DEFAULT_FAIL_ON, FINE, FULL)
    assert passed((), FULL) and passed(DEFAULT_FAIL_ON)


def test_comparisons_are_filed_under_names_that_stay():
    assert FULL.lasting_title == FULL.title
    assert replace(FULL, title_of_checkout="fwd list").lasting_title == "fwd list"
