"""Estimators of the conditional expectation operator P[h](z) = E[h(X)|Z=z]."""

from sagdiv.operators.exact import ExactOperator
from sagdiv.operators.forest import ForestOperator
from sagdiv.operators.from_ratio import RatioOperator
from sagdiv.operators.mean_embedding import MeanEmbeddingOperator
from sagdiv.operators.nadaraya_watson import NadarayaWatsonOperator

__all__ = [
    "ExactOperator",
    "ForestOperator",
    "MeanEmbeddingOperator",
    "NadarayaWatsonOperator",
    "RatioOperator",
]
