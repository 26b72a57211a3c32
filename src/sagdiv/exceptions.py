"""Warnings that users may want to filter by class."""

__all__ = ["BoundReachedWarning", "NoInstrumentWarning", "WeakInstrumentWarning"]


class NoInstrumentWarning(UserWarning):
    """Z was not given: X is its own instrument, and the answer is an ordinary regression."""


class BoundReachedWarning(UserWarning):
    """The search set bound the descent where it was not meant to."""


class WeakInstrumentWarning(UserWarning):
    """The instrument moves X in too few directions to identify more than a few shapes of h."""
