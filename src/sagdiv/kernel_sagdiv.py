"""`KernelSAGDIV`, the front door."""

from __future__ import annotations

from typing import Any

from sagdiv.density_ratio import KernelDensityRatio
from sagdiv.estimator import SAGDIV
from sagdiv.operators import MeanEmbeddingOperator
from sagdiv.sets import SupNormBall

__all__ = ["KernelSAGDIV", "paper_kernel"]


def paper_kernel(**overrides: Any) -> SAGDIV:
    components = {
        "density_ratio": KernelDensityRatio(),
        "operator": MeanEmbeddingOperator(),
        "convex_set": SupNormBall(10.0),
        "warm_up": 100,
    }
    return SAGDIV(**(components | overrides))


class KernelSAGDIV(SAGDIV):
    paper = staticmethod(paper_kernel)
