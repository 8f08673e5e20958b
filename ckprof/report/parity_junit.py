"""Comparisons of instance strings as JUnit XML, one test case per instance, for CI services."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ckprof.model.parity import ParityFinding
from ckprof.report.parity_text import differences

if TYPE_CHECKING:
    from xml.etree import ElementTree

    from ckprof.model.parity import Comparison, ParityReport, Unmatched

#: characters that XML cannot hold
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_parity_junit(report: ParityReport) -> str:
    """Render one suite per comparison; what does not fail the comparison is a passed or skipped case."""
    # Every command loads the formats; few write XML.
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", name="ckprof parity")
    for comparison in report.comparisons:
        _Suite(root, comparison, report.fail_on).fill()
    for key in ("tests", "failures", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


class _Suite:
    def __init__(
        self, root: ElementTree.Element, comparison: Comparison, fail_on: tuple[ParityFinding, ...]
    ) -> None:
        self._comparison = comparison
        self._fail_on = fail_on
        self._suite = _child(root, "testsuite", name=_clean(comparison.title))

    def fill(self) -> None:
        comparison = self._comparison
        for match in comparison.matches:
            self._case(match.text, match.source)
        for item in comparison.missing:
            self._finding(ParityFinding.MISSING, item.text, item.source, _about(item, comparison.first))
        for item in comparison.extra:
            self._finding(ParityFinding.EXTRA, item.text, item.source, _about(item, comparison.second))
        for copy in comparison.duplicates:
            about = f"{len(copy.sources)} times in {copy.side}: {', '.join(copy.sources)}"
            self._finding(ParityFinding.DUPLICATE, copy.text, copy.sources[0], about)
        for loss in comparison.lossy:
            changed = differences(loss.differences)
            about = f"{loss.rule}: {loss.reason}" + (f" ({changed})" if changed else "")
            self._finding(ParityFinding.LOSSY, loss.text, loss.sources[-1], about)
        for skip in comparison.skipped:
            about = f"{skip.rule}: {skip.reason}"
            if ParityFinding.SKIPPED in self._fail_on:
                self._finding(ParityFinding.SKIPPED, skip.text, skip.source, about)
            else:
                _child(self._case(skip.text, skip.source), "skipped", message=_clean(about))
        cases = list(self._suite)
        self._suite.set("tests", str(len(cases)))
        self._suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        self._suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))

    def _case(self, text: str, source: str) -> ElementTree.Element:
        return _child(
            self._suite, "testcase", classname=_clean(self._comparison.title), name=_clean(f"{source} {text}")
        )

    def _finding(self, trouble: ParityFinding, text: str, source: str, about: str) -> None:
        case = self._case(text, source)
        if trouble in self._fail_on:
            failure = _child(case, "failure", type=trouble.value, message=_clean(about))
            failure.text = _clean(text)
        else:
            _child(case, "system-out").text = _clean(f"{trouble.value}: {about}")


def _child(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    child = parent.makeelement(tag, attributes)
    parent.append(child)
    return child


def _about(item: Unmatched, side: str) -> str:
    parts = [f"only in {side}", item.note]
    if item.nearest is not None:
        parts.append(f"nearest {item.nearest.source}: {differences(item.nearest.differences)}")
    return "; ".join(part for part in parts if part)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
