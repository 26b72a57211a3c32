"""The baselines that need torch are there when asked for, and say what is missing if it is."""

import subprocess
import sys

import pytest
from without_torch import run_without_torch

import sagdiv.baselines

WITHOUT_TORCH = """
from sagdiv import baselines
baselines.KIV()
assert "DeepIV" not in dir(baselines)  # for `help` and the like
for name in ("DeepIV", "DeepGMM", "DirectNetwork"):
    try:
        getattr(baselines, name)
    except ImportError as error:
        assert f'{name} needs torch' in str(error), error
        assert 'pip install "sagdiv[deep]"' in str(error), error
    else:
        raise AssertionError(name)
"""


def test_without_torch():
    run_without_torch(WITHOUT_TORCH, check=True)


def test_importing_the_baselines_does_not_import_torch():
    code = "import sys, sagdiv.baselines; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_name():
    with pytest.raises(AttributeError, match="has no attribute 'DeepForest'"):
        sagdiv.baselines.DeepForest  # noqa: B018
