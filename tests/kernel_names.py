"""Names of kernels with parts, for tests of what shortens them."""

from ckprof.model.kernel import KEPT, KernelName

#: how much fields tell; the others tell 6
TELLING = {
    **{"epilogue": 1, "scheduler": 2, "mma": 3, "waves": 4, "pipeline": KEPT, "tile": KEPT + 1},
    **dict.fromkeys(("direction", "dtype", "layout", "ndim"), 5),
}
FIELDS = (
    *("direction", "dtype", "layout", "ndim", "pipeline", "epilogue", "scheduler", "tile", "waves", "mma"),
    *("vec", "more"),
)


def kernel_name(*texts, fields=FIELDS):
    """Return the name of these parts, which are those fields."""
    pairs = zip(fields, texts, strict=False)
    return KernelName("_".join(texts), tuple((TELLING.get(name, 6), name, text) for name, text in pairs))
