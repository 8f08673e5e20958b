"""Programs that print what kernels answer about problems, built with a target's headers and no device."""

import subprocess

from tests.measure.fakes import ABI_FOLDER

_BUILD_S = 1500


def output(arguments):
    """Return what a command prints, which must not fail."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def answered(recipe, program):
    """Build a program, beside its source, and return the lines that it prints."""
    # those of the C interface are for libraries
    support = (path for path in recipe.support_sources if path.name != "target.cpp")
    flags = [
        *(*recipe.compile_flags, *recipe.kernel_flags, *recipe.location_flags),
        *(f"-I{one}" for one in (*recipe.include_dirs, ABI_FOLDER)),
    ]
    objects = []
    for source in (program, *support):
        objects.append(str(program.with_name(f"{source.stem}.o")))
        unit = [flag.format(key=source.stem) for flag in recipe.unit_flags]
        output([*recipe.compiler.command, *flags, *unit, "-c", str(source), "-o", objects[-1]])
    link = [flag for flag in recipe.link_flags if not flag.startswith("-Wl,")]
    binary = program.with_suffix("")
    output([*recipe.compiler.command, *link, *objects, "-o", str(binary)])
    return output([str(binary)]).splitlines()
