"""The table of docs/parity.md: what two functions of one object print, out of what they printed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from tests.places import GOLDEN

PRINTED = GOLDEN / "string_dialects" / "2025-11.json"
#: columns
TITLES = {
    "fwd_multiple_abd_xdl_cshuffle": "forward XDL",
    "fwd_multiple_abd_xdl_cshuffle_v3": "forward V3",
    "fwd_multiple_d_xdl_large_tensor_cshuffle": "large tensor",
    "fwd_multiple_d_wmma_cshuffle": "forward WMMA",
    "fwd_dl_multiple_d_nhwc_kyxc_nhwk": "forward DL",
    "bwd_weight_xdl_cshuffle": "backward weight XDL",
}


@dataclass(frozen=True)
class Dialects:
    """Both strings of the instances of one class, taken apart."""

    #: (label, template parameter)
    type_fields: tuple[tuple[str, str], ...]
    #: those of them that the class computes, and that are no template parameters
    computed: frozenset[str]
    #: template parameters
    instance_fields: tuple[str, ...]
    #: values of either string, of each instance; a type string may end early
    pairs: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

    def place_of(self, index):
        """Return where the instance string has a field of the type string; ``None``: nowhere.

        It is the field that has the same values in all instances; of several, the one of the same name,
        else of the most similar one.
        """
        _, name = self.type_fields[index]
        if name in self.computed:
            return None
        shown = [(types[index], instances) for types, instances in self.pairs if index < len(types)]
        equal = [
            place
            for place in range(len(self.instance_fields))
            if shown and all(value == instances[place] for value, instances in shown)
        ]
        likeness = {place: self._likeness(name, self.instance_fields[place]) for place in equal}
        best = max(equal, key=lambda place: likeness[place], default=None)
        return best if best is not None and likeness[best] > 0.5 else None

    @staticmethod
    def _likeness(one, other):
        return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def read_dialects():
    """Return what was printed, by class.

    :raises AssertionError: a string has other fields than its source says.
    """
    return {name: _dialects(record) for name, record in json.loads(PRINTED.read_text()).items()}


def _dialects(record):
    fields = tuple(map(tuple, record["type_fields"]))
    pairs = []
    for type_string, instance_string in record["pairs"]:
        instance = _values(instance_string.partition("<")[2].removesuffix(">"))
        assert len(instance) == len(record["instance_fields"]), instance_string
        values = type_string.partition("<")[2].replace("> ", ", ").removesuffix(">").split(", ")
        for value, (label, _) in zip(values, fields, strict=False):
            assert value.startswith(f"{label}: ") if label else ":" not in value, type_string
        plain = tuple(value.rpartition(": ")[2] for value in values)
        pairs.append((plain, instance))
    assert max(len(types) for types, _ in pairs) == len(fields)
    return Dialects(fields, frozenset(record["computed"]), tuple(record["instance_fields"]), tuple(pairs))


def _values(text):
    """Return arguments; commas within brackets do not separate."""
    return tuple(re.findall(r"(?:[^,()]|\([^)]*\))+", text))


def table():
    """Return the table: a row for each template parameter that a type string prints."""
    dialects = read_dialects()
    columns = {name: _column(one) for name, one in dialects.items()}
    rows = list(dict.fromkeys(row for column in columns.values() for row in column))
    lines = ["| printed by `GetTypeString` | " + " | ".join(TITLES.values()) + " |"]
    lines.append("| --- |" + " --- |" * len(TITLES))
    for row in rows:
        cells = (columns[name].get(row, "") for name in TITLES)
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    missing = (_missing(dialects[name]) for name in TITLES)
    lines.append("| not printed by it, places in the instance string | " + " | ".join(missing) + " |")
    counts = (
        f"{len(dialects[name].type_fields)} of {len(dialects[name].instance_fields)}" for name in TITLES
    )
    lines.append("| fields | " + " | ".join(counts) + " |")
    return "\n".join(lines) + "\n"


def _column(dialects):
    """Return row -> cell: place in the type string, then place in the instance string."""
    cells = {}
    for index, (label, name) in enumerate(dialects.type_fields):
        place = dialects.place_of(index)
        row = f"`{label}: {name}`" if label and label != name else f"`{label}: ...`" if label else f"`{name}`"
        cells[row] = f"{index + 1} / {'-' if place is None else place + 1}"
    return cells


def _missing(dialects):
    """Return the places that no field of the type string is found in, as ranges."""
    found = {dialects.place_of(index) for index in range(len(dialects.type_fields))}
    ranges = []
    for place in range(len(dialects.instance_fields)):
        if place in found:
            continue
        if ranges and ranges[-1][1] == place - 1:
            ranges[-1][1] = place
        else:
            ranges.append([place, place])
    return ", ".join(f"{a + 1}" if a == b else f"{a + 1}-{b + 1}" for a, b in ranges)
