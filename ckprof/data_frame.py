"""Tables as frames of pandas, which is an extra: nothing else needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas


def data_frame(
    records: Iterable[Mapping[str, object]], columns: Sequence[str] | None = None
) -> pandas.DataFrame:
    """Return records as a frame.

    :param columns: their names, for frames without a row; by default those of the records.
    :raises ImportError: pandas is not installed; the message says how to get it, and what does without.
    """
    try:
        import pandas
    except ImportError as exc:
        raise ImportError(
            "data frames need the package pandas, which is not installed: pip install 'ckprof[pandas]'; "
            "nothing is lost, to_dicts() returns the same rows without it"
        ) from exc
    return pandas.DataFrame(list(records), columns=columns)
