"""A row carries a digest of its code: every edit changes it, and nothing else does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sagdiv
from sagdiv.experiments import Method
from sagdiv.experiments.provenance import are_mixed, revision, versions

ASK = (
    "from sagdiv.experiments import read_design; "
    "from sagdiv.experiments.provenance import revision, versions; "
    "design = read_design({path!r}); "
    "print(versions().get('commit')); "
    "[print(revision(design, method)) for method in design.methods]"
)
OWN = """
class Own:
    def fit(self, X, y, Z): return self
    def predict(self, X): return X[:, 0]
"""


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(
        Path(sagdiv.__file__).parent,
        tmp_path / "here" / "sagdiv",
        ignore=shutil.ignore_patterns("__pycache__"),
    )


def ask(copy, design):
    """Return the commit and the revision of each method, as a copy of the package sees them."""
    paths = os.pathsep.join([str(copy.parent), *filter(None, sys.path)])
    answer = subprocess.run(
        [sys.executable, "-c", ASK.format(path=str(design))],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.splitlines()


def edit(path, line):
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")


def test_the_digest_is_that_of_the_source(copy, write, tmp_path, open_design):
    design = write('[methods.a]\nestimator = "sagdiv.baselines.TSLS"\n')
    (here, method) = open_design('[methods.a]\nestimator = "sagdiv.baselines.TSLS"\n')[0], "a"
    _, found = ask(copy, design)
    assert found == revision(here, here.method(method))

    elsewhere = shutil.copytree(copy, tmp_path / "elsewhere" / "sagdiv")
    for path in elsewhere.rglob("*.py"):  # a checkout on another system
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert ask(elsewhere, design)[1] == found

    edits = []
    for line in ("# one\n", "# two\n"):  # neither of them committed anywhere
        edit(elsewhere / "descent.py", line)
        edits.append(ask(elsewhere, design)[1])
    assert len({found, *edits}) == 3


def test_a_module_of_ones_own(copy, write, tmp_path):
    own = copy.parent / "own_method.py"
    own.write_text(OWN)
    design = write(
        '[methods.theirs]\nestimator = "sagdiv.baselines.TSLS"\n'
        '[methods.mine]\nestimator = "own_method.Own"\n'
    )
    _, theirs, mine = ask(copy, design)
    assert mine.startswith(theirs + " own_method:")
    edit(own, "# edited\n")
    _, theirs_after, mine_after = ask(copy, design)
    assert theirs_after == theirs
    assert mine_after != mine


def test_modules_of_arguments_count(open_design):
    design, _ = open_design()
    params = {"loss": [{"class": "experiments.misbehaving.Mean"}]}
    found = revision(design, Method("a", "sagdiv.KernelSAGDIV", params=params))
    assert " experiments.misbehaving:" in found
    assert " " not in revision(design, design.method("default"))


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_noted(copy, write):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *arguments], cwd=copy, check=True, capture_output=True)

    design = write('[methods.a]\nestimator = "sagdiv.baselines.TSLS"\n')
    git("init")
    git("add", ".")
    git("commit", "-m", "all of it")
    commit, found = ask(copy, design)
    assert len(commit) == 12
    edit(copy / "descent.py", "# edited\n")
    edited, other = ask(copy, design)
    assert edited == commit + "+"
    assert other != found
    git("checkout", ".")
    git("commit", "--allow-empty", "-m", "nothing")
    assert ask(copy, design)[1] == found


def test_versions():
    assert set(versions()) >= {"python", "numpy", "scipy", "scikit-learn", "sagdiv"}


@pytest.mark.parametrize(
    ("revisions", "mixed"),
    [
        ({"a": ["1"], "b": ["1"]}, False),
        ({"a": ["1"], "b": ["1 own:5"]}, False),
        ({"a": ["1", "2"]}, True),
        ({"a": ["1"], "b": ["2 own:5"]}, True),
        ({"a": ["1"], "b": ["1 own:5", "1 own:6"]}, True),
        ({}, False),
    ],
)
def test_mixed_code(revisions, mixed):
    assert are_mixed(revisions) == mixed
