"""Which instances filters choose: by regular expressions over names, or by expressions over fields.

An expression is such as ``tile_n >= 128 and gemm_pipeline == "compv5"``; with ``c.`` before the fields, as
upstream's instance builder has them, it means the same.
The grammar is a small part of Python's: comparisons, ``in``, ``and``, ``or``, ``not``, numbers, texts,
``true``/``false``, lists, and ``+ - * // %`` on numbers. The text is parsed, never executed.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import UsageError
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from ckprof.kernels.candidates import Candidate

Values = Mapping[str, Any]
_Part = Callable[[Values], Any]

#: Longer texts are no filters any more.
_LONGEST: Final = 2000

_BOOLEANS: Final = {"true": True, "false": False}

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.In: ("in", lambda item, group: item in group),
    ast.NotIn: ("not in", lambda item, group: item not in group),
}
_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

#: Groups of regular expressions that contain comparison signs.
_GROUP: Final = re.compile(r"\(\?(?:<?[=!]|P<\w+>)")
#: A sign, or a word in front of one, however it is spaced: fields are in lower case, names of templates not.
_COMPARING: Final = re.compile(r"==|!=|>=|<=|\s[<>](?:\s|$)|\b(?:and|or|not|in)\s|\b[a-z_]\w*\s*[<>=]")
#: What nothing can end with.
_UNFINISHED: Final = re.compile(r"(?:[<>=!+*/%,-]|\b(?:and|or|not|in))$")


class _MissingField(Exception):
    """The instance has no such field."""


def is_expression(text: str, fields: Collection[str]) -> bool:
    """Say whether ``text`` is meant as an expression rather than a regular expression over names.

    It is if it compares something, joins with ``and``, ``or``, ``not`` or ``in``, or is the name of a field.
    """
    text = re.sub(r"\bc\.(?=\w)", "", text)
    return text.strip() in fields or _COMPARING.search(_GROUP.sub("", text)) is not None


class _WithoutInstance(ast.NodeTransformer):
    """Makes ``c.tile_n`` to ``tile_n``: upstream's filters call the instance ``c``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "c":
            return ast.copy_location(ast.Name(node.attr), node)
        return node


class Expression:
    """A parsed filter.

    :param text: what the user wrote.
    :param fields: name -> a value that the field can have, of all instances that may be asked.
    :param spellings: second spelling of a value -> the value, as instances have it.
    :raises UsageError: the text is no expression, names no field, or compares a number with a text.
    """

    def __init__(self, text: str, fields: Values, spellings: Mapping[Any, str] | None = None) -> None:
        self._text = text
        self._spellings = spellings or {}
        self._fields = fields
        if len(text) > _LONGEST:
            raise UsageError(f"filter of {len(text)} characters, expected at most {_LONGEST}")
        try:
            tree = _WithoutInstance().visit(ast.parse(text.strip(), mode="eval"))
        except SyntaxError as exc:
            raise self._error(*self._syntax_error(exc)) from None
        except (ValueError, RecursionError, MemoryError):
            raise self._error("cannot be read") from None
        try:
            self._test = self._part(tree.body)
        except RecursionError:
            raise self._error("is nested too deeply") from None

    def matches(self, values: Values) -> bool:
        """Say whether an instance with these fields passes; one that lacks a compared field does not.

        :raises UsageError: a value cannot be computed, e.g. a division by zero.
        """
        try:
            return bool(self._test(values))
        except _MissingField:
            return False
        except (TypeError, ZeroDivisionError, OverflowError) as exc:
            raise self._error(str(exc)) from None

    def _error(self, message: str, column: int | None = None) -> UsageError:
        where = f" at character {column}" if column else ""
        return UsageError(f"filter {self._text!r}{where}: {message}")

    def _syntax_error(self, error: SyntaxError) -> tuple[str, int | None]:
        """Return what is wrong, in the words of filters, and the character from 1."""
        text = self._text.strip()
        if error.offset is None:
            return error.msg, None
        if _UNFINISHED.search(text):
            return "the expression is not finished: something is missing at its end", len(text) + 1
        if re.search(r"(?<![=!<>])=(?!=)", text):
            return 'a comparison for equality has two signs: ==, e.g. gemm_pipeline == "compv4"', error.offset
        return f'{error.msg}; expected e.g. tile_n >= 128 and gemm_pipeline == "compv4"', error.offset

    def _part(self, node: ast.expr) -> _Part:
        if isinstance(node, ast.BoolOp):
            return self._boolean(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            operand = _tolerant(self._part(node.operand))
            return lambda values: not operand(values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._part(node.operand)
            return lambda values: -inner(values)
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            compute = _ARITHMETIC[type(node.op)]
            left, right = self._part(node.left), self._part(node.right)
            self._require_number(node.left)
            self._require_number(node.right)
            return lambda values: compute(left(values), right(values))
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, str)):
            constant = self._spellings.get(node.value, node.value)
            return lambda values: constant
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items = [self._part(item) for item in node.elts]
            return lambda values: [item(values) for item in items]
        raise self._error(f"cannot use {ast.unparse(node)!r} here", node.col_offset + 1)

    def _boolean(self, node: ast.BoolOp) -> _Part:
        parts = [_tolerant(self._part(value)) for value in node.values]
        decide = all if isinstance(node.op, ast.And) else any
        return lambda values: decide(part(values) for part in parts)

    def _comparison(self, node: ast.Compare) -> _Part:
        operands = [node.left, *node.comparators]
        self._check_quotes(operands)
        parts = [self._part(operand) for operand in operands]
        steps = []
        for position, op in enumerate(node.ops):
            if type(op) not in _COMPARISONS:
                raise self._error(f"cannot use {ast.unparse(node)!r} here", node.col_offset + 1)
            sign, compare = _COMPARISONS[type(op)]
            self._check_kinds(sign, operands[position], operands[position + 1])
            steps.append((parts[position], compare, parts[position + 1]))
        return lambda values: all(compare(left(values), right(values)) for left, compare, right in steps)

    def _name(self, node: ast.Name) -> _Part:
        name = node.id
        if name in _BOOLEANS:
            truth = _BOOLEANS[name]
            return lambda values: truth
        if name not in self._fields:
            raise self._error(unknown_name("field", name, sorted(self._fields)), node.col_offset + 1)

        def read(values: Values) -> Any:
            try:
                return values[name]
            except KeyError:
                raise _MissingField from None

        return read

    def _check_quotes(self, operands: list[ast.expr]) -> None:
        """Reject words that are no field and are compared with one that is a text: they lack their quotes."""
        if not any(isinstance(operand, ast.Name) and self._kind(operand) == "text" for operand in operands):
            return
        for operand in operands:
            items = operand.elts if isinstance(operand, (ast.List, ast.Tuple, ast.Set)) else [operand]
            for item in items:
                if isinstance(item, ast.Name) and item.id not in self._fields and item.id not in _BOOLEANS:
                    raise self._error(
                        f'{item.id} is not a field; a text has quotes: "{item.id}"', item.col_offset + 1
                    )

    def _check_kinds(self, sign: str, left: ast.expr, right: ast.expr) -> None:
        """Reject comparisons that can never be true, which are mistakes of writing."""
        kinds = [self._kind(left), self._kind(right)]
        if "in" in sign:
            if not isinstance(right, (ast.List, ast.Tuple, ast.Set)) and kinds[1] != "text":
                raise self._error(f"{ast.unparse(right)} is not a list", right.col_offset + 1)
            return
        if None not in kinds and kinds[0] != kinds[1]:
            raise self._error(
                f"{ast.unparse(left)} is a {kinds[0]}, {ast.unparse(right)} is a {kinds[1]}: "
                "they never compare",
                left.col_offset + 1,
            )

    def _require_number(self, node: ast.expr) -> None:
        if self._kind(node) not in (None, "number"):
            raise self._error(f"{ast.unparse(node)} is not a number", node.col_offset + 1)

    def _kind(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            value = _BOOLEANS[node.id] if node.id in _BOOLEANS else self._fields.get(node.id)
        elif isinstance(node, ast.Constant):
            value = node.value
        elif isinstance(node, ast.BinOp):
            return "number"
        else:
            return None
        if isinstance(value, bool):
            return "truth value"
        return "number" if isinstance(value, int) else "text" if isinstance(value, str) else None


def _tolerant(part: _Part) -> _Part:
    """Return ``part`` with a missing field taken for false, so that the other side of an ``or`` counts."""

    def test(values: Values) -> Any:
        try:
            return part(values)
        except _MissingField:
            return False

    return test


def select(
    candidates: Sequence[Candidate],
    *,
    filters: Sequence[str] = (),
    excludes: Sequence[str] = (),
    pipelines: Sequence[str] = (),
) -> frozenset[int]:
    """Return the ids (:func:`id`) of the candidates that pass all options.

    :param filters: keep those that one of these chooses: an expression over their fields, or a regular
        expression that finds their kernel name or instance string.
    :param excludes: drop those that one of these chooses.
    :param pipelines: keep those of these pipelines; empty keeps all.
    :raises UsageError: an expression is wrong.
    """
    examples = {type(candidate.instance): candidate for candidate in candidates}
    fields = {name: value for one in examples.values() for name, value in filter_values(one).items()}
    second = {name: value for one in examples.values() for name, value in one.instance.value_aliases.items()}
    keep = [_test("--filter", text, fields, second) for text in filters]
    drop = [_test("--exclude", text, fields, second) for text in excludes]
    return frozenset(
        id(candidate)
        for candidate in candidates
        if (not pipelines or candidate.pipeline.id in pipelines)
        and (not keep or any(test(candidate) for test in keep))
        and not any(test(candidate) for test in drop)
    )


def filter_values(candidate: Candidate) -> dict[str, Any]:
    """Return what a filter expression can ask of a candidate, second names included.

    A second name may be that of another field: GEMM kernels have their ``gemm_pipeline`` as ``pipeline``, and
    what is called so elsewhere as ``family``.
    """
    fields = candidate.instance.fields()
    second = {alias: fields[name] for alias, name in candidate.instance.field_aliases.items()}
    return {"name": candidate.name, "family": candidate.pipeline.id, **fields, **second}


def _test(option: str, text: str, fields: Values, spellings: Values) -> Callable[[Candidate], bool]:
    """Return what a filter asks of a candidate.

    :raises UsageError: the text is neither an expression nor a regular expression.
    """
    if is_expression(text, fields):
        expression = Expression(text, fields, spellings)
        return lambda candidate: expression.matches(filter_values(candidate))
    try:
        pattern = re.compile(text)
    except re.error as exc:
        raise UsageError(f"{option} {text!r} is not a regular expression: {exc}") from None
    return lambda candidate: bool(pattern.search(candidate.name) or pattern.search(candidate.instance_string))
