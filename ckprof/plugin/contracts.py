"""What each kind of registered object must have: read off the protocols, so that it is said there alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import Final

from ckprof import errors
from ckprof.plugin import protocols
from ckprof.strings.kind import StringKind

_RAISES: Final = re.compile(r":raises (\w+):")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An attribute or a method of a protocol."""

    name: str
    #: names of the parameters that it is called with; ``None`` for an attribute
    parameters: tuple[str, ...] | None
    #: annotation of the attribute, or of what the method returns
    annotation: str
    #: errors that it may raise, as its docstring says; they are shown as they are
    raises: tuple[type[BaseException], ...] = ()

    @property
    def spelling(self) -> str:
        """``name`` or ``name(parameters)``."""
        return self.name if self.parameters is None else f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What ckprof expects of one kind of objects."""

    #: singular name for messages
    kind: str
    hook: str
    protocol: type
    #: protocols that an object may follow besides: all of the members of one, or none
    abilities: tuple[type, ...] = ()
    #: attribute that identifies an object among its kind
    identifier: str = "id"
    #: member -> its name in plugins written before it was renamed
    former_names: Mapping[str, str] = field(default_factory=dict)
    #: member of an ability -> its value where an object does not have it
    defaults: Mapping[str, object] = field(default_factory=dict)
    #: attributes that may take long to find out: read when they are needed, not at registration
    late: frozenset[str] = frozenset()
    #: members of dataclasses that may raise, which no docstring says
    raises: Mapping[str, tuple[type[BaseException], ...]] = field(default_factory=dict)
    #: says what else is wrong with an object; empty if nothing is
    further_check: Callable[[object], str] | None = None


@cache
def members_of(protocol: type) -> tuple[Member, ...]:
    """Return the members of a protocol, or the fields of a dataclass, in their order."""
    members = [
        Member(name=name, parameters=None, annotation=text)
        for name, text in vars(protocol).get("__annotations__", {}).items()
        if not text.startswith("InitVar")
    ]
    for name, value in vars(protocol).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property) and value.fget is not None:
            members.append(
                Member(name=name, parameters=None, annotation=value.fget.__annotations__["return"])
            )
        elif isinstance(value, FunctionType):
            code = value.__code__
            members.append(
                Member(
                    name=name,
                    parameters=code.co_varnames[1 : code.co_argcount],
                    annotation=value.__annotations__["return"],
                    raises=_raised(value.__doc__),
                )
            )
    return tuple(members)


def _raised(doc: str | None) -> tuple[type[BaseException], ...]:
    """Return the errors of ckprof that a docstring names; all of them where docstrings were stripped."""
    if doc is None:
        return (errors.CkprofError,)
    found = (getattr(errors, name, None) for name in _RAISES.findall(doc))
    return tuple(one for one in found if one is not None)


def _record_type_problem(variant: object) -> str:
    """Return what is wrong with the record type of a variant; empty if nothing is."""
    import msgspec

    assert isinstance(variant, protocols.CatalogVariant)  # noqa: S101 - checked before
    kind = variant.record_type
    if not issubclass(kind, msgspec.Struct):
        return f"record_type {kind.__name__} is not a msgspec.Struct; derive it from CatalogRecord"
    fields = kind.__struct_fields__
    if fields[:1] != ("id",):
        return f"record_type {kind.__name__} must have 'id' as its first field (has {', '.join(fields)})"
    keyword_only = [name for name in fields if name not in kind.__match_args__]
    if keyword_only:
        return (
            f"record_type {kind.__name__} takes {', '.join(keyword_only)} by keyword only, but records are "
            "made from values in the order of the fields: remove kw_only"
        )
    if not kind.__struct_config__.forbid_unknown_fields:
        return f"record_type {kind.__name__} must be declared with forbid_unknown_fields=True"
    return ""


#: one contract for each hook that registers objects
CONTRACTS: Final[Mapping[str, Contract]] = {
    contract.hook: contract
    for contract in (
        Contract(
            kind="direction",
            hook="ckprof_register_directions",
            protocol=protocols.Direction,
            abilities=(protocols.ContractingOperation,),
        ),
        Contract(
            kind="operation",
            hook="ckprof_register_operations",
            protocol=protocols.Operation,
            abilities=(
                protocols.OwnProblems,
                protocols.FurtherOperands,
                protocols.KernelInterface,
                protocols.ProblemSampler,
                protocols.ContractingOperation,
            ),
        ),
        Contract(
            kind="pipeline",
            hook="ckprof_register_pipelines",
            protocol=protocols.Pipeline,
            abilities=(protocols.MatrixPipeline, protocols.NamedPipeline, protocols.DirectionUser),
            former_names={"unmet_requirements": "refusals"},
            # a family learns which directions there are when all plugins have registered
            late=frozenset({"directions"}),
        ),
        Contract(
            kind="target",
            hook="ckprof_register_targets",
            protocol=protocols.Target,
            abilities=(
                protocols.InspectableTarget,
                protocols.ModellingTarget,
                protocols.DeviceIdentifier,
                protocols.RoofTarget,
                protocols.FieldIgnoringTarget,
                protocols.SubstitutingTarget,
            ),
            late=frozenset({"default_arch"}),
        ),
        Contract(kind="baseline", hook="ckprof_register_baselines", protocol=protocols.Baseline),
        Contract(
            kind="rule set",
            hook="ckprof_register_rule_sets",
            protocol=protocols.RuleSet,
            abilities=(protocols.OnDemandRuleSet,),
        ),
        Contract(kind="format", hook="ckprof_register_report_formats", protocol=protocols.ReportFormat),
        Contract(
            kind="converter",
            hook="ckprof_register_converters",
            protocol=protocols.Converter,
            abilities=(
                protocols.StreamingConverter,
                protocols.FamilyReader,
                protocols.TreeConverter,
                protocols.LineExplainer,
            ),
            defaults={"family_type": object},
        ),
        Contract(kind="extractor", hook="ckprof_register_extractors", protocol=protocols.ListExtractor),
        Contract(
            kind="catalog variant",
            hook="ckprof_register_catalog_variants",
            protocol=protocols.CatalogVariant,
            identifier="name",
            raises={"native": (errors.InputError,)},
            further_check=_record_type_problem,
        ),
        Contract(
            kind="builder reader",
            hook="ckprof_register_builder_readers",
            protocol=protocols.BuilderReader,
            abilities=(protocols.FamilyReader,),
            defaults={"family_type": object},
        ),
        Contract(
            kind="parity format", hook="ckprof_register_parity_formats", protocol=protocols.ParityFormat
        ),
        Contract(
            kind="comparison format",
            hook="ckprof_register_comparison_formats",
            protocol=protocols.ComparisonFormat,
        ),
        Contract(
            kind="store report format",
            hook="ckprof_register_store_report_formats",
            protocol=protocols.StoreReportFormat,
        ),
        Contract(kind="kind of instance string", hook="ckprof_register_string_kinds", protocol=StringKind),
    )
}
