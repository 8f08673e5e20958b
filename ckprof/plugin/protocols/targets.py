"""What must be had by places where kernels are built and run, what watches them, and other libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ckprof.plugin.members import optional, optional_with

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.model.device import DeviceIdentity, DeviceKernel, Finding, Reading
    from ckprof.model.gemm_work import Estimate, GemmWork, KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.model.recipe import BuildRecipe, BuildRequest
    from ckprof.model.roofline import Ceiling


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedKernel:
    """A kernel as a target is asked about it."""

    #: id of the direction
    direction: str
    #: name of the type of the operands
    dtype: str
    #: fields of the instance; only some of them where a name is all that is known
    fields: Mapping[str, Any]
    #: what the configuration says
    traits: KernelTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class CanarySource:
    """How the canaries of a target are compiled: reference kernels of :data:`ckprof.model.device.CANARIES`.

    The object has the C function ``int ckprof_canary_ms(int which, int device, int threads, double *ms)``. It
    returns 0 if it has timed the canary with that number.
    """

    #: the source, and the headers beside those of compiler and runtime that it includes
    files: tuple[Path, ...]
    #: the compiler's command, with flags that only say where something lies; source and output follow
    compiler: tuple[str, ...]
    #: all others; they follow
    flags: tuple[str, ...]
    #: what flags mean here, e.g. ``-march=native``; an object of equal files, flags and machine is used again
    machine: str


class Target(Protocol):
    """A toolchain, a provider of CK Tile headers and a place to run."""

    @property
    def id(self) -> str:
        """What users type with ``--target``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def embedded(self) -> bool:
        """True when kernels run without any device: the first such target is the default."""

    @property
    def default_arch(self) -> str:
        """Architecture used without ``--arch``."""

    def findings(self) -> Sequence[Finding]:
        """Return what is there and what is missing, for ``ckprof doctor``. Must not raise."""

    def recipe(self, request: BuildRequest) -> BuildRecipe:
        """Return how to compile and link for this target.

        :raises ToolchainError: no usable compiler or headers; the message says what to install.
        :raises UsageError: the target has no such architecture or API level.
        """

    @property
    @optional
    def models_arch(self) -> bool:
        """True if it runs kernels of its own in place of those of the architecture that is named, so that its
        machine code says nothing about that architecture."""
        return False

    @optional
    def inspect(self, code_object: Path, arch: str) -> Sequence[DeviceKernel]:
        """Return the kernels of a code object with what each of them needs.

        :raises InputError: it is no code object of this target.
        :raises ToolchainError: a tool that reads it is missing.
        :raises CkprofError: a package that reads it is missing.
        """
        raise NotImplementedError

    @optional_with("inspect")
    def estimate(self, kernel: DeviceKernel, work: GemmWork) -> Estimate | None:
        """Return bounds for a kernel on a problem; ``None`` where too little is known."""
        return None

    @optional
    def device_identity(self, arch: str, device: int) -> DeviceIdentity | None:
        """Return what measurements on a device are filed under, where more is known of it than the line that
        libraries print; ``None`` if it cannot be read now.

        :param device: its index.
        """
        return None

    @optional
    def device_name(self) -> str:
        """Return the name of the device of this machine; empty if there is none."""
        return ""

    @optional
    def theoretical_ceilings(self, arch: str, device: int) -> Sequence[Ceiling]:
        """Return what a device reaches by its data sheet, a ceiling per data type; empty if it is not known.

        :param device: its index.
        """
        return ()

    @optional
    def canary(self, arch: str) -> CanarySource | None:
        """Return how the canaries are compiled that are measured in every visit; ``None`` without any.

        Compiler and flags must not depend on those of the user's kernels.

        :raises ToolchainError: nothing here can compile them.
        """
        return None

    @optional
    def executed(self, kernel: TimedKernel) -> KernelTraits:
        """Return what a kernel really does there, where its configuration does not say it.

        Kernels with the same machine code should have equal traits.

        :raises ToolchainError: what tells it cannot be compiled here.
        """
        return kernel.traits

    @optional
    def ignored_fields(self, kernel: TimedKernel) -> Mapping[str, str]:
        """Return the fields of an instance that its kernel does not depend on there -> a clause: why.

        Instances that differ in nothing else are reported as the same kernel.

        :raises ToolchainError: what tells it cannot be compiled here.
        """
        return {}

    @optional
    def substitute(self, kernel: TimedKernel, problem: Problem) -> str:
        """Return what computes a problem there in place of an instance's kernel; empty if nothing does.

        :return: a few words, e.g. ``a kernel for groups of one channel``.
        :raises ToolchainError: what tells it cannot be compiled here.
        """
        return ""


class NamedDevice(Protocol):
    """A device that any machine has, for the kernels of one target: ``--device`` takes its name.

    It brings a runtime of its own, and computes on the host. What libraries say of it begins with its name,
    and so stores tell its times from others.
    """

    @property
    def id(self) -> str:
        """What users type with ``--device``, settings apart."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def target(self) -> str:
        """Id of the target whose kernels it runs."""

    @property
    def archs(self) -> Sequence[str]:
        """The architectures that it can be."""

    def variables(self, device: str) -> Mapping[str, str]:
        """Return the environment variables that it reads in processes that run kernels.

        :param device: its name, with settings after a colon, e.g. ``emulated:seed=7``.
        :raises UsageError: a setting is wrong.
        """

    def recipe(self, target: Target, request: BuildRequest) -> BuildRecipe:
        """Return the target's recipe, changed so that libraries are linked with the device.

        :param target: the one that :attr:`target` names.
        :param request: with the device in :attr:`ckprof.model.recipe.BuildRequest.device`, for which the
            target's recipe omits its runtime.
        :raises ToolchainError: no usable compiler or headers.
        :raises UsageError: it cannot be such an architecture, or a setting is wrong.
        """

    def findings(self) -> Sequence[Finding]:
        """Return what it needs and whether that is there, for ``ckprof doctor``. Must not raise."""


class Baseline(Protocol):
    """A library of somebody else that instances are compared with: same problem, operands and rules.

    It computes in a worker process of its own, which alone imports it.
    """

    @property
    def id(self) -> str:
        """What users type with ``--baseline``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def entry(self) -> str:
        """``module:function``, or ``path/of/a/file.py:function``: what makes the engine.

        The worker calls the function with a :class:`ckprof.measure.worker.messages.DeviceChoice` and with
        whether to compute where the host does. It returns a
        :class:`ckprof.measure.worker.baseline_session.BaselineEngine`, or raises
        :class:`ckprof.measure.worker.baseline_session.BaselineUnusable`.
        """

    def missing(self) -> str:
        """Return what is not installed and how to install it; empty if nothing. Must not import it."""


@runtime_checkable
class Observer(Protocol):
    """Reads evidence once per round. Plugins add their own."""

    @property
    def id(self) -> str:
        """Name for messages."""

    def observe(self, target: str, device: int) -> Reading | None:
        """Return what can be seen now; ``None`` if the observer has nothing to say about this target.

        Called in the parent process between two attempts, so it must be quick.

        :param target: id of the target.
        :param device: index of the device.
        """
