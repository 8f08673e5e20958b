"""The lists of convolutions that ship with ckprof: those that converters of directions know."""

from ckprof.paths import conf_root
from ckprof_converters.list_tree import DIRECTION_FOLDERS

#: relative to the folder of all lists
CONVOLUTION_LISTS = sorted(
    path.relative_to(conf_root())
    for folder in DIRECTION_FOLDERS
    for path in (conf_root() / folder).rglob("*.conf")
)
