"""Names the packages, which are found: a feature package is a folder that no other file of the build names.

The folders plugins/, converters/ and conf/ install under names of their own, so that no generic name lands in
site-packages; folders named ``tests`` do not install.
"""

from __future__ import annotations

from setuptools import find_packages, setup

FOLDERS = {
    "ckprof": "ckprof",
    "ckprof_plugins": "plugins",
    "ckprof_converters": "converters",
    "ckprof_conf": "conf",
    # what 'ckprof plugins --new' writes packages from
    "ckprof_template": "examples/naive_gather",
    "ckprof_command_template": "examples/time_guard",
}
NOT_INSTALLED = ("tests", "tests.*", "*.tests", "*.tests.*")
NESTED = ("ckprof", "ckprof_plugins", "ckprof_converters")

setup(
    package_dir=FOLDERS,
    packages=[
        *FOLDERS,
        *(
            f"{name}.{found}"
            for name in NESTED
            for found in find_packages(FOLDERS[name], exclude=NOT_INSTALLED)
        ),
    ],
)
