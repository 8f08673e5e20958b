"""What a profile says in numbers and words."""

import pytest

from ckprof_plugins.pages.profile import time_shares
from ckprof_plugins.pages.profile_view import profile_document, timeline_lines
from plugins.pages.tests.profiles import INSTRUCTIONS, content


def test_shares_are_those_of_all_executions():
    shares = {(share.waiting, share.id): share for share in time_shares(content().profile)}
    # 200 cycles of all, 180 of the loop; nothing waits for a unit
    assert shares.keys() == {(False, "mul"), (False, "mem"), (True, "data")}
    assert shares[False, "mem"].whole == pytest.approx((20 + 40) / 200)
    assert shares[False, "mem"].loop == pytest.approx(40 / 180)
    assert shares[True, "data"].loop == pytest.approx(60 / 180)
    assert sum(share.whole for share in shares.values()) == pytest.approx(1)


def test_shares_of_loops_and_counts_of_workgroups():
    shares = time_shares(content(instructions=INSTRUCTIONS[:1]).profile)
    assert [(share.whole, share.loop) for share in shares] == [(1.0, None)]
    facts = dict(content().facts)
    assert facts["LDS"] == "40 cycles of a workgroup, 25.0 % of them bank conflicts"
    assert facts["global memory"].startswith("3 lines of a workgroup with 30 bytes asked of each; 100.0 %")
    # 5 workgroups, 2 at once
    assert "5 on the busiest one, 3 rounds" in facts["occupancy"]
    assert facts["loop"] == "2 instructions, 7 iterations, 20 cycles each; 90.0 % of the waves' time"


def test_the_timeline_as_text_has_a_character_for_what_goes_on():
    lines = timeline_lines(content().profile)
    drawn = [line.split("|")[1] for line in lines[:4]]
    half, quarter = len(drawn[0]) // 2, len(drawn[0]) // 4
    # letters are those of the units' names, of which E is the first that memory shares with no other
    assert drawn[0] == "M" * half + "-" * half
    assert drawn[1] == "." * (3 * quarter) + "E" * quarter
    assert drawn[2].rstrip() == "M" * quarter
    assert lines[-1].startswith("20 cycles, ")
    assert "- waits for data" in lines[-1]


def test_the_text_says_that_nothing_was_measured():
    document = profile_document(content())
    for text in (document.text(), document.markdown()):
        assert "12.35 us, predicted from machine code, not measured; 25.0 % of the roofline ceiling" in text
        assert "latency of data" in text
        assert "kernel.hpp:12" in text
        # parts of no time are left out
        assert "set" not in text.split("What waves do")[0].split("part of the time")[1]
