"""The table of ckProfiler's operations in docs/problems.md is that by which its lines are read."""

from ckprof_plugins.directions import shipped_directions
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "problems.md"
BEGIN = "<!-- made by tests/docs/test_ckprofiler_lines.py -->\n"


def table():
    lines = ["| operation | arguments | types | layouts | last | epilogue |", "| --- " * 6 + "|"]
    for direction in shipped_directions():
        for form in direction.all_forms:
            cells = (
                f"`{form.operations[0]}`",
                f"`{' '.join(form.leading)}`",
                numbered(form.dtypes),
                numbered(form.layouts),
                "".join(f"`{name}`" for name in form.trailing),
                operation_of(form),
            )
            lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def operation_of(form):
    if "element_op" in form.choices:
        return numbered(form.choices["element_op"])
    return f"`{form.elementwise}`" if form.elementwise else ""


def numbered(values):
    return ", ".join(f"{number} {value}" for number, value in values.items())


def test_the_table_is_up_to_date(request):
    before, _, rest = PAGE.read_text().partition(BEGIN)
    shown, _, after = rest.partition("\n\n")
    if request.config.getoption("--refresh-golden"):
        PAGE.write_text(f"{before}{BEGIN}{table()}\n{after}")
    else:
        assert f"{shown}\n" == table()
