"""What CI services make of reports."""

import re
from xml.etree import ElementTree


def obeyed(log):
    """Return the annotations that GitHub reads in a log: level, message and properties.

    Written after the documentation of workflow commands, with none of the code that writes them.
    """
    found = []
    for line in log.splitlines():
        command = re.fullmatch(r"\s*::(error|warning|notice)(?: ([^:]*))?::(.*)", line)
        if command is None:
            continue
        level, properties, message = command.groups()
        pairs = (pair.split("=", 1) for pair in (properties or "").split(",") if pair)
        found.append(
            {"level": level, "message": _read(message), **{key: _read(value) for key, value in pairs}}
        )
    return found


def _read(text):
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def cases(junit):
    """Return class and name of each case, and what became of it; the names must differ."""
    read = {}
    for case in ElementTree.fromstring(junit).iter("testcase"):  # noqa: S314 - our own text
        identity = case.get("classname", ""), case.get("name", "")
        assert identity not in read, f"two cases are called {identity}"
        tags = {child.tag for child in case} & {"failure", "error", "skipped"}
        read[identity] = next(iter(tags), "passed")
    return read
