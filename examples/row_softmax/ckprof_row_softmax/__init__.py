"""The operation ``row_softmax`` and a kernel family for it."""
