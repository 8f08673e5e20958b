"""Lists, and one measured instance of them, on which objects of plugins are tried; made when needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.kernels.candidates import list_candidates
from ckprof.kernels.requests import InstanceQuery
from ckprof.lists.list_files import list_request, read_list
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import StoreOptions
from ckprof.model.architecture import LATEST_API_LEVEL
from ckprof.model.conversion import ListReading
from ckprof.testing.contract import CannotTry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.requests import BuildOptions
    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof.model.results import RunResults
    from ckprof.profiler import Profiler

#: seconds for which a kernel is timed where only what happens to it matters
_TIMED_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """An instance of a list, with the record that it comes from."""

    path: Path
    catalog: Catalog
    candidate: Candidate

    @property
    def query(self) -> InstanceQuery:
        """The instance alone."""
        return InstanceQuery(conf=self.path, indices=(self.candidate.index,))


class Samples:
    """What objects are tried on.

    :param paths: lists; the first that has what is wanted is taken.
    :param folder: an empty one, for files.
    :param build: says on which target, architecture and device instances are tried.
    """

    def __init__(self, profiler: Profiler, paths: Sequence[Path], folder: Path, build: BuildOptions) -> None:
        self.profiler, self.registry, self.paths, self.folder = profiler, profiler.registry, paths, folder
        self.build = build
        #: of the instances that are tried
        self.arch = self.build.arch or profiler.target(self.build.target).default_arch

    def conversions(self) -> Iterator[Conversion]:
        """Yield what the lists give, one by one; lists of others may be wrong."""
        for path in self.paths:
            yield read_list(path, self.registry)

    def requests(self) -> Iterator[ConversionRequest]:
        """Yield the lists as converters get them."""
        for path in self.paths:
            yield list_request(path, ListReading(), None, whole=True)

    def of_pipeline(self, pipeline: str | None = None) -> Sample:
        """Return the first valid instance of a family that a list has.

        :param pipeline: its id; ``None`` for any.
        :raises CannotTry: no list has one.
        """
        for conversion in self.conversions():
            for candidate in list_candidates([conversion], self.registry):
                if pipeline is not None and candidate.pipeline.id != pipeline:
                    continue
                if not candidate.pipeline.unmet_requirements(candidate.instance, self.arch, LATEST_API_LEVEL):
                    catalog = self._catalog_of(candidate, conversion)
                    return Sample(path=conversion.path, catalog=catalog, candidate=candidate)
        raise CannotTry("no list has a valid one; name a list of its instances with --conf")

    def _catalog_of(self, candidate: Candidate, conversion: Conversion) -> Catalog:
        """Return the catalog that has the record of an instance."""
        instance, instance_of = candidate.instance, self.profiler.registry.instance_of
        return next(
            catalog
            for catalog in conversion.catalogs
            for record in catalog.records
            if record.id == instance.id and instance_of(catalog, record)[1].key == instance.key
        )

    @property
    def options(self) -> RunOptions:
        """A short measurement."""
        timeout_s = self.profiler.settings.timeout
        return RunOptions(max_time_s=_TIMED_S, timeout_s=timeout_s, device=self.build.device or 0)

    @property
    def store(self) -> Path:
        """A store with the outcomes of :attr:`results`."""
        _ = self.results
        return self.folder / "sample.db"

    @cached_property
    def any_sample(self) -> Sample:
        """An instance of any family.

        :raises CannotTry: no list has a valid one.
        """
        return self.of_pipeline()

    @cached_property
    def results(self) -> RunResults:
        """A run of one instance.

        :raises CkprofError: it cannot be run.
        """
        plan = self.profiler.plan(self.any_sample.query, build=self.build, run=self.options)
        stored = replace(plan, store=StoreOptions(store=self.folder / "sample.db"))
        return self.profiler.execute(stored).data
