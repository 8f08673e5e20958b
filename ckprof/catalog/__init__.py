"""JSON catalogs of instances: read, validate, write."""
