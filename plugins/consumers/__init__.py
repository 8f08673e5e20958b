"""Programs that use tuned results: their files are judged, read and written."""
