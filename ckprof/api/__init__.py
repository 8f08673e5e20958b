"""The public Python interface: everything that a command does, without a command line.

:class:`~ckprof.api.profiler.Profiler` opens one session; requests are frozen dataclasses of
:mod:`ckprof.api.requests`; what happens meanwhile is reported by the events of :mod:`ckprof.api.events`.
"""
