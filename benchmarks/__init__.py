"""Measurements: every figure in the documentation comes from a command here."""
