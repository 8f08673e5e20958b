"""Trials of what reads lists and makes instances of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import CkprofError, PluginError
from ckprof.kernels.candidates import list_candidates
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.architecture import LATEST_API_LEVEL
from ckprof.model.strings.kind import default_revision
from ckprof.testing.contract import CannotTry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.strings.kind import StringKind
    from ckprof.plugin.protocols import (
        BuilderReader,
        CatalogVariant,
        Converter,
        Pipeline,
        RuleSet,
    )
    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Sample, Samples


def pipeline_trials(samples: Samples, pipeline: Pipeline) -> Trials:
    """Yield the trials of a kernel family on an instance.

    :raises CkprofError: none can be had.
    """
    sample = samples.of_pipeline(pipeline.id)
    yield "records round-trip", lambda: _round_trip(samples, sample.catalog)
    yield "describes its instances", lambda: _described(sample, pipeline)
    yield "renders", lambda: _rendered(sample, samples.arch)
    yield "builds, says what instance_string says, and runs", lambda: _run(samples, sample)


def rule_set_trials(samples: Samples, rule_set: RuleSet) -> Trials:
    """Yield the trials of a rule set."""
    yield "enumerates instances that are valid", lambda: _counted(samples, rule_set)


def converter_trials(samples: Samples, converter: Converter) -> Trials:
    """Yield the trials of a converter on the first list that it recognises."""
    yield "converts a list", lambda: _converted(samples, converter)


def builder_reader_trials(samples: Samples, reader: BuilderReader) -> Trials:
    """Yield the trials of what knows CK Builder's strings, on the first list that it recognises."""
    yield "reads a list", lambda: _read(samples, reader)


def variant_trials(samples: Samples, variant: CatalogVariant) -> Trials:
    """Yield the trials of a kind of catalogs."""
    yield "records round-trip", lambda: _round_trip(samples, _catalog(samples, variant.name))
    if (native := variant.native) is not None:
        yield "has native lines", lambda: f"{len(native(_catalog(samples, variant.name)))} lines"


def family_trials(samples: Samples, family: object) -> Trials:
    """Yield the trials of a grammar table, which some converter knows what to do with."""
    if name := str(getattr(family, "variant", "") or ""):
        yield "its lines give records", lambda: f"{len(_catalog(samples, name).records)} records of {name!r}"
    else:
        yield "says which lines there are", lambda: "they give no records"


def string_kind_trials(samples: Samples, kind: StringKind) -> Trials:
    """Yield the trials of a kind of instance strings."""
    yield "reads what it writes", lambda: _spelled(samples, kind)


def _run(samples: Samples, sample: Sample) -> str:
    result, *others = samples.profiler.profile(sample.query, build=samples.build, run=samples.options)
    if any(measured.status.value != "ok" for measured in (result, *others)):
        raise PluginError(f"its default problem {result.problem.describe()}: {result.reason}")
    return f"{result.name} on {result.problem.describe()}"


def _counted(samples: Samples, rule_set: RuleSet) -> str:
    chosen = samples.profiler.instances(InstanceQuery(rule_set=rule_set.id))
    if not (chosen.candidates or chosen.invalid):
        raise CannotTry("has none for the default architecture")
    return f"{len(chosen.require().candidates)} instances"


def _converted(samples: Samples, converter: Converter) -> str:
    request = _recognised(samples, converter)
    return f"{request.path.name}: {converter.convert(request).lines} lines"


def _read(samples: Samples, reader: BuilderReader) -> str:
    request = _recognised(samples, reader)
    found = reader.read(request, samples.registry.strings, default_revision())
    return f"{request.path.name}: {len(found.strings)} strings"


def _recognised(samples: Samples, reader: Converter | BuilderReader) -> ConversionRequest:
    for request in samples.requests():
        if reader.recognises(request):
            return request
    raise CannotTry("recognises none of the lists; name one of its dialect with --conf")


def _catalog(samples: Samples, variant: str) -> Catalog:
    for conversion in samples.conversions():
        for catalog in conversion.catalogs:
            if catalog.variant == variant and catalog.records:
                return catalog
    raise CannotTry(f"no list gives records of variant {variant!r}; name one with --conf")


def _round_trip(samples: Samples, catalog: Catalog) -> str:
    """Check that a catalog is the same after it was written and read."""
    from ckprof.lists.catalogs import read_catalog, render_catalog

    path = samples.folder / "catalog.json"
    again = read_catalog(render_catalog(catalog).encode(), path, samples.registry.variants.as_mapping())
    if again != catalog:
        pairs = zip(catalog.records, again.records, strict=True)
        changed = next((before for before, after in pairs if before != after), None)
        raise PluginError(f"variant {catalog.variant!r}: written and read again, {changed} is another record")
    return f"{len(catalog.records)} records of {catalog.variant!r}"


def _spelled(samples: Samples, kind: StringKind) -> str:
    """Check that a string survives being read and written."""
    strings = samples.registry.strings
    for text in _texts(samples):
        try:
            parsed = strings.parse(text)
        except CkprofError:
            continue  # a line that is no string
        if parsed.kind_id != kind.id:
            continue
        again = strings.parse(strings.render(parsed))
        if again != parsed:
            raise PluginError(f"{text!r}: written and read again, it is {strings.render(again)!r}")
        return text
    raise CannotTry("no instance of the lists has such a string; name a list with --conf")


def _texts(samples: Samples) -> Iterator[str]:
    """Yield the strings of all instances of the lists, and their lines, which may be strings as well."""
    for conversion in samples.conversions():
        for candidate in list_candidates([conversion], samples.registry):
            yield candidate.instance_string
    for request in samples.requests():
        yield from request.data.decode(errors="replace").splitlines()


def _described(sample: Sample, pipeline: Pipeline) -> str:
    """Check what a family says of an instance without rendering it."""
    instance = sample.candidate.instance
    if instance.pipeline != pipeline.id:
        raise PluginError(f"its instances say that they are of pipeline {instance.pipeline!r}")
    if instance.direction not in pipeline.directions:
        raise PluginError(f"an instance of {instance.direction!r}, which is not among its directions")
    if pipeline.instance_string(instance) != pipeline.instance_string(instance):
        raise PluginError("instance_string gives another text each time")
    if not instance.fields():
        raise PluginError("its instances have no fields")
    return f"{pipeline.kernel_name(instance)}, {instance.key[:12]}"


def _rendered(sample: Sample, arch: str) -> str:
    """Check the header of an instance."""
    pipeline, instance = sample.candidate.pipeline, sample.candidate.instance
    source = pipeline.render(instance, arch, LATEST_API_LEVEL)
    if source != pipeline.render(instance, arch, LATEST_API_LEVEL):
        raise PluginError("render gives another header each time")
    if error := source.header.partition("\n#error ")[2]:
        raise CannotTry(f"does not compile for {arch}: {error.splitlines()[0]}")
    if source.launcher.partition("<")[0].split("::")[-1] not in source.header:
        raise PluginError(f"the header has no launcher {source.launcher!r}")
    return f"{len(source.header.splitlines())} lines"
