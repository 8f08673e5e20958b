"""Operands, references and tolerances: whether a result is right."""
