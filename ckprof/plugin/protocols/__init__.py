"""What directions, pipelines, targets and converters must have.

These are structural types: a plugin need not derive from them. What it registers is checked against them, and
the errors that a docstring names are the ones that a member may raise; see :mod:`ckprof.plugin.boundary`.
Every ``id`` is a lower-case word that is
unique among its kind; it is what users type.
"""

from __future__ import annotations

from ckprof.plugin.protocols.converters import BuilderPrinter as BuilderPrinter
from ckprof.plugin.protocols.converters import BuilderReader as BuilderReader
from ckprof.plugin.protocols.converters import CatalogVariant as CatalogVariant
from ckprof.plugin.protocols.converters import Converter as Converter
from ckprof.plugin.protocols.converters import FamilyReader as FamilyReader
from ckprof.plugin.protocols.converters import LineExplainer as LineExplainer
from ckprof.plugin.protocols.converters import StreamingConverter as StreamingConverter
from ckprof.plugin.protocols.converters import TreeConverter as TreeConverter
from ckprof.plugin.protocols.formats import ComparisonFormat as ComparisonFormat
from ckprof.plugin.protocols.formats import InspectionView as InspectionView
from ckprof.plugin.protocols.formats import ParityFormat as ParityFormat
from ckprof.plugin.protocols.formats import ReportFormat as ReportFormat
from ckprof.plugin.protocols.formats import ResultsView as ResultsView
from ckprof.plugin.protocols.formats import StoreFormat as StoreFormat
from ckprof.plugin.protocols.observers import Observer as Observer
from ckprof.plugin.protocols.operations import ContractingOperation as ContractingOperation
from ckprof.plugin.protocols.operations import FurtherOperands as FurtherOperands
from ckprof.plugin.protocols.operations import KernelRanking as KernelRanking
from ckprof.plugin.protocols.operations import LibraryInterface as LibraryInterface
from ckprof.plugin.protocols.operations import LineWriter as LineWriter
from ckprof.plugin.protocols.operations import LogReader as LogReader
from ckprof.plugin.protocols.operations import MadeOperands as MadeOperands
from ckprof.plugin.protocols.operations import Operation as Operation
from ckprof.plugin.protocols.operations import ProblemSampler as ProblemSampler
from ckprof.plugin.protocols.operations import ProblemSetFile as ProblemSetFile
from ckprof.plugin.protocols.operations import SyntheticProblems as SyntheticProblems
from ckprof.plugin.protocols.operations import TableReader as TableReader
from ckprof.plugin.protocols.operations import TolerantOperation as TolerantOperation
from ckprof.plugin.protocols.pipelines import ClaimingPipeline as ClaimingPipeline
from ckprof.plugin.protocols.pipelines import DeducingPipeline as DeducingPipeline
from ckprof.plugin.protocols.pipelines import DirectionUser as DirectionUser
from ckprof.plugin.protocols.pipelines import FusingPipeline as FusingPipeline
from ckprof.plugin.protocols.pipelines import KernelSource as KernelSource
from ckprof.plugin.protocols.pipelines import MatrixPipeline as MatrixPipeline
from ckprof.plugin.protocols.pipelines import NamedPipeline as NamedPipeline
from ckprof.plugin.protocols.pipelines import OnDemandRuleSet as OnDemandRuleSet
from ckprof.plugin.protocols.pipelines import Pipeline as Pipeline
from ckprof.plugin.protocols.pipelines import RecordingPipeline as RecordingPipeline
from ckprof.plugin.protocols.pipelines import RuleSet as RuleSet
from ckprof.plugin.protocols.pipelines import RuleSetEntry as RuleSetEntry
from ckprof.plugin.protocols.pipelines import RuleSetRequest as RuleSetRequest
from ckprof.plugin.protocols.targets import Baseline as Baseline
from ckprof.plugin.protocols.targets import DeviceIdentifier as DeviceIdentifier
from ckprof.plugin.protocols.targets import FieldIgnoringTarget as FieldIgnoringTarget
from ckprof.plugin.protocols.targets import InspectableTarget as InspectableTarget
from ckprof.plugin.protocols.targets import ModellingTarget as ModellingTarget
from ckprof.plugin.protocols.targets import NamedDevice as NamedDevice
from ckprof.plugin.protocols.targets import RoofTarget as RoofTarget
from ckprof.plugin.protocols.targets import SubstitutingTarget as SubstitutingTarget
from ckprof.plugin.protocols.targets import Target as Target
