"""The grammar table of one family of list lines. Plugins add families by returning such tables.

A line is ``Name<argument,argument,...>``. A family says which names it answers to, what each argument is, and
how the fields of a catalog record follow from the arguments. One engine reads all families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.conversion import ListReading
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import SHARED_TYPES
from ckprof.plugin.additions import Kind
from ckprof_converters.drop_rules import DropRule
from ckprof_plugins.directions._convolution.layout import LAYOUTS

if TYPE_CHECKING:
    from ckprof.model.catalog import CatalogRecord
    from ckprof.model.strings.fields import Field
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType


#: key of what a line says and a record cannot, as a list of texts that steps add to
LOST: Final = "lost"


class StepError(Exception):
    """A line whose arguments contradict each other, or the rest of the list.

    :param message: what is wrong, with the numbers.
    :param field: name of the argument to point at; empty for the line as a whole.
    :param whole_file: the same holds for other lines: say it once, with their number.
    """

    def __init__(self, message: str, field: str = "", *, whole_file: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.whole_file = whole_file


#: Completes the values of a line in place, given how it is read, with its own layout and type; may say why
#: the line is dropped, or raise :class:`StepError`.
Step = Callable[[dict[str, Any], ListReading], UnmetRequirement | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfFamily:
    """How the lines of one family are recognised, read and turned into records.

    :param id: unique lower-case name.
    :param title: a few words for messages.
    :param direction: id of the direction that the lines belong to.
    :param names: exact names in front of the first ``<``.
    :param name_contains: instead of exact names: text that must occur in the name; all of them.
    :param marker: text that must occur in the arguments, for names that several families share.
    :param fields: the arguments in order.
    :param string_kind: id of the kind of instance string that the lines are, if it is another one than the
        family's: by it, revisions say which fields they leave out.
    :param counts: accepted numbers of arguments, ascending, for lines whose number depends on their values;
        arguments beyond the smallest number are optional, their values come from ``fixed``. Empty means
        ``len(fields)``, less what a revision leaves out.
    :param separator: text between two arguments in the usual print; other blanks are accepted.
    :param inside: how many of ``fields`` stand between the brackets; the others follow after them, each with
        its label, as in ``Name<a, b> Label: c, Label: d``. By default all stand between the brackets.
    :param nested: name of a template whose own arguments ``nested_fields`` stand before ``fields``, as in
        ``Name<Nested<a, b> Label: c, ...>``.
    :param variant: name of the catalog variant of the records.
    :param record_type: msgspec struct; every field but ``id`` takes the value of the same name.
    :param layout_fields: names of the fields with the layouts of (input, weight, output).
    :param layout_name_field: in place of ``layout_fields``: the field with the layout's name, in any case.
    :param layouts: layouts that the lines can have.
    :param dtypes: data types that the lines can have.
    :param ndim_field: name of the field with the number of spatial dimensions.
    :param dtype_fields: names of the fields that all hold the data type of the instance.
    :param layout: name of the layout if the family has but one and its lines do not say it.
    :param needs_dtype: the steps depend on the data type. Where neither lines, request nor file name know it,
        the conversion fails if this is set, and gives one catalog for each type if not.
    :param index_ids: ids count the family's instances; otherwise they are zero-based line numbers.
    :param lax_ndim: in a list whose name says layout and ``streamk``, the name decides between 2-D and 3-D
        where the layouts in the lines differ from it in nothing else.
    :param fixed: values that hold for all lines.
    :param steps: derivations in order: names of :data:`ckprof_converters.derivation.STEPS`, or functions.
    :param note: an assumption that the user should hear of when such lines are converted.
    :param conflicting_family: id of a family of another version of the library whose lines differ in their
        number of
        arguments alone: in one list, lines of both are a mistake.
    :param operand_tensors: of how many tensors each operand is made.
    :param rejection: set for families that are known but cannot be converted: why.
    :param rejection_rule: the rule under which rejected lines are counted.
    """

    id: str
    title: str
    direction: str = ""
    names: tuple[str, ...] = ()
    name_contains: tuple[str, ...] = ()
    marker: str = ""
    fields: tuple[Field, ...] = ()
    string_kind: str = ""
    counts: tuple[int, ...] = ()
    separator: str = ","
    inside: int = 0
    nested: str = ""
    nested_fields: tuple[Field, ...] = ()
    variant: str = ""
    record_type: type[CatalogRecord] | None = None
    layout_fields: tuple[str, str, str] | None = None
    layout_name_field: str = ""
    layouts: tuple[Layout, ...] = LAYOUTS
    dtypes: tuple[DataType, ...] = SHARED_TYPES
    ndim_field: str = ""
    dtype_fields: tuple[str, ...] = ()
    layout: str = ""
    needs_dtype: bool = True
    index_ids: bool = False
    lax_ndim: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str | Callable[..., UnmetRequirement | None], ...] = ()
    note: str = ""
    conflicting_family: str = ""
    operand_tensors: int = 1
    rejection: str = ""
    rejection_rule: str = DropRule.UNSUPPORTED_FAMILY.value

    @property
    def accepted_counts(self) -> tuple[int, ...]:
        """Accepted numbers of arguments, ascending; empty for a rejected family of any shape."""
        if self.counts or self.rejection:
            return self.counts
        return (len(self.fields),)


#: the tables, as a kind of objects that plugins register
CONF_FAMILIES: Final = Kind[ConfFamily]("conf family", ConfFamily, "ckprof.testing.list_trials:family_trials")
