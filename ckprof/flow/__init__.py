"""The stages of a run as functions: lists in, instances, sources, library, outcomes. Nothing here prints."""
