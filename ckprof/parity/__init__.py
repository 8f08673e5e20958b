"""Proof that nothing was lost: instance strings of two independent routes, compared. Nothing here prints."""
