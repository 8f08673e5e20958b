"""Rule sets: enumerations of instances per architecture."""
