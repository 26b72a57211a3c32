"""A process of its own in which torch cannot be imported."""

import subprocess
import sys

_HIDE = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
"""


def run_without_torch(code, *arguments, **settings):
    """Run Python code and return what `subprocess.run` does."""
    return subprocess.run([sys.executable, "-c", _HIDE + code, *arguments], **settings)
