"""Instance lists and catalogs: found, read, written, explained, extracted."""
