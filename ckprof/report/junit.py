"""JUnit XML for CI services: suites of test cases, without the characters that XML cannot hold.

Services follow a case from run to run by its class and its name. So neither has line numbers or paths of a
checkout: those stand in messages.
"""

from __future__ import annotations

from xml.etree import ElementTree

from ckprof.report.escape import xml_text


class JUnit:
    """A report that grows.

    :param name: what is tested.
    """

    def __init__(self, name: str) -> None:
        self._root = ElementTree.Element("testsuites", name=xml_text(name))
        self._names: dict[tuple[str, str], int] = {}

    def suite(self, name: str) -> ElementTree.Element:
        """Add a suite, for test cases of :meth:`case`; it is the class of its cases."""
        return add(self._root, "testsuite", name=name)

    def case(self, suite: ElementTree.Element, name: str) -> ElementTree.Element:
        """Add a test case; of several with one name, the second and later ones are numbered."""
        owner = suite.get("name", "")
        count = self._names[owner, name] = self._names.get((owner, name), 0) + 1
        return add(suite, "testcase", classname=owner, name=name if count == 1 else f"{name} #{count}")

    def render(self) -> str:
        """Return the document, with the counts of its cases."""
        counts = {
            "tests": "testcase",
            "failures": "testcase/failure",
            "errors": "testcase/error",
            "skipped": "testcase/skipped",
        }
        for key, path in counts.items():
            for suite in self._root:
                suite.set(key, str(len(suite.findall(path))))
            self._root.set(key, str(len(self._root.findall(f"testsuite/{path}"))))
        ElementTree.indent(self._root)
        return ElementTree.tostring(self._root, encoding="unicode", xml_declaration=True) + "\n"


def add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> ElementTree.Element:
    """Add an element to another one."""
    child = ElementTree.SubElement(parent, tag, {key: xml_text(value) for key, value in attributes.items()})
    child.text = xml_text(text) or None
    return child
