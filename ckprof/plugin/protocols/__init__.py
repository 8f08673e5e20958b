"""What directions, pipelines, targets and converters must have.

These are structural types: a plugin need not derive from them. What it registers is checked against them, and
the errors that a docstring names are the ones that a member may raise; see :mod:`ckprof.plugin.boundary`.
Every ``id`` is a lower-case word that is
unique among its kind; it is what users type.
"""

from __future__ import annotations

from ckprof.plugin.protocols.converters import BuilderReader as BuilderReader
from ckprof.plugin.protocols.converters import CatalogVariant as CatalogVariant
from ckprof.plugin.protocols.converters import ComparisonFormat as ComparisonFormat
from ckprof.plugin.protocols.converters import Converter as Converter
from ckprof.plugin.protocols.converters import InspectionView as InspectionView
from ckprof.plugin.protocols.converters import ParityFormat as ParityFormat
from ckprof.plugin.protocols.converters import ReportFormat as ReportFormat
from ckprof.plugin.protocols.converters import ResultsView as ResultsView
from ckprof.plugin.protocols.converters import StoreFormat as StoreFormat
from ckprof.plugin.protocols.operations import LibraryInterface as LibraryInterface
from ckprof.plugin.protocols.operations import Operation as Operation
from ckprof.plugin.protocols.operations import ProblemSetFile as ProblemSetFile
from ckprof.plugin.protocols.operations import SourceAddition as SourceAddition
from ckprof.plugin.protocols.pipelines import KernelSource as KernelSource
from ckprof.plugin.protocols.pipelines import Pipeline as Pipeline
from ckprof.plugin.protocols.pipelines import RuleSet as RuleSet
from ckprof.plugin.protocols.pipelines import RuleSetEntry as RuleSetEntry
from ckprof.plugin.protocols.pipelines import RuleSetRequest as RuleSetRequest
from ckprof.plugin.protocols.targets import Baseline as Baseline
from ckprof.plugin.protocols.targets import CanarySource as CanarySource
from ckprof.plugin.protocols.targets import NamedDevice as NamedDevice
from ckprof.plugin.protocols.targets import Observer as Observer
from ckprof.plugin.protocols.targets import Target as Target
from ckprof.plugin.protocols.targets import TimedKernel as TimedKernel
