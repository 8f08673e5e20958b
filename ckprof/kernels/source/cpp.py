"""Python values as C++ text."""

from __future__ import annotations

from functools import lru_cache


def boolean(value: bool) -> str:
    """Return ``true`` or ``false``."""
    return "true" if value else "false"


@lru_cache(maxsize=4096)
def string_literal(text: str) -> str:
    """Return ``text`` as a C++ string literal.

    Bytes that are not printable ASCII become octal escapes, which, unlike hexadecimal ones, end after three
    digits whatever follows.
    """
    if text.isascii() and text.isprintable():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    parts = []
    for byte in text.encode():
        character = chr(byte)
        if character in '\\"':
            parts.append(f"\\{character}")
        elif 0x20 <= byte < 0x7F:
            parts.append(character)
        else:
            parts.append(f"\\{byte:03o}")
    return f'"{"".join(parts)}"'
