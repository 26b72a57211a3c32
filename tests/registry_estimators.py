"""Every estimator of the package and what it claims to be able to do: the baselines, and the core.

A new estimator is tested by adding a row, here or among the baselines.
"""

from baselines.registry_baselines import BASELINES, Case, table

from sagdiv import SAGDIV, KernelSAGDIV
from sagdiv.baselines import TSLS
from sagdiv.density_ratio import TensorDensityRatio
from sagdiv.losses import PseudoHuberLoss
from sagdiv.operators import NadarayaWatsonOperator

# In other units the default places its features on other rows.
NEARLY = 1e-3

ESTIMATORS = BASELINES + table(
    default=Case(
        KernelSAGDIV(random_state=0), shift_free=True, order_free=True, seeded=True, units=NEARLY
    ),
    default_robust=Case(
        KernelSAGDIV(PseudoHuberLoss(), random_state=0),
        shift_free=True,
        order_free=True,
        seeded=True,
        units=NEARLY,
    ),
    default_in_batches=Case(
        KernelSAGDIV(batch_size=50, total_step=20.0, random_state=0), seeded=True, units=0.1
    ),
    paper=Case(KernelSAGDIV.paper(random_state=0), seeded=True),
    paper_robust=Case(
        KernelSAGDIV.paper(loss=PseudoHuberLoss(), outcome="observed", random_state=0), seeded=True
    ),
    open_door=Case(
        SAGDIV(
            TensorDensityRatio(),
            NadarayaWatsonOperator(),
            init=TSLS(),
            nuisance_fraction=1,
            random_state=0,
        ),
        seeded=True,
    ),
)


def select(capability, value=True):
    return [param for param in ESTIMATORS if getattr(param.values[0], capability) is value]
