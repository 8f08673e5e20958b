"""The predicted profile of a kernel as a page and as text: never measured, and marked so."""
