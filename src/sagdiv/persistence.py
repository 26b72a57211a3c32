"""Saving fitted models, and loading them without running anything that a file brings along."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import sklearn

from sagdiv._lazy import NEEDS_TORCH

__all__ = ["load", "save"]

_FORMAT = 1
_NOTE = "sagdiv.json"

# A file may name classes of this library, as objects that get their attributes back, and no more of
# it than this: a function is something that somebody calls.
_FUNCTIONS = {"sagdiv.neural.networks.default_network", "sagdiv.steps.inverse_sqrt"}
_METHODS = {"predict"}
_LOADERS = {"ObjectNode", "TypeNode", "FunctionNode", "MethodNode"}  # none of which calls anything


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that `load` reads back; an existing file is replaced at once.

    Parameters
    ----------
    model : estimator or StructuralFit
        The data that a `StructuralFit` keeps are written with it.
    path : str or path
        By convention ``name.skops``.

    Raises
    ------
    TypeError
        If the model holds an object that is not this library's, NumPy's, SciPy's or scikit-learn's:
        a function of one's own, say, or a network of torch. `load` would refuse it. The callback of
        a `sagdiv.neural.Training` is left out.
    """
    skops_io = _skops()
    from sagdiv import __version__

    path = Path(path)
    try:
        content = skops_io.dumps(model)
        foreign = _foreign(skops_io.get_untrusted_types(data=content), content)
    except Exception as error:  # whatever skops has no recipe for
        raise TypeError(f"{type(model).__name__} cannot be saved: {error}") from error
    if foreign:
        raise TypeError(
            f"{type(model).__name__} cannot be saved: it holds {', '.join(foreign)}, which is not "
            "a type of this library, and load would refuse it."
        )
    note = {"format": _FORMAT, "sagdiv": __version__, "scikit-learn": sklearn.__version__}
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content)
        with ZipFile(temporary, "a") as archive:
            archive.writestr(_NOTE, json.dumps(note))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Nothing but the types of this library, NumPy, SciPy and scikit-learn is ever built, so that a
    file from somebody else cannot run code of its own. It can still hold another model than the
    one it claims to: the numbers are not signed.

    Raises
    ------
    ValueError
        If the file is damaged, was not written by `save`, holds foreign types, or comes from a
        version whose models this one cannot read.
    """
    skops_io = _skops()
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    note = _read_note(path)
    writer = f"sagdiv {note.get('sagdiv', 'of an unknown version')}"
    if note.get("format") != _FORMAT:
        raise ValueError(
            f"{path} was written by {writer} in format {note.get('format')!r}; this version reads "
            f"format {_FORMAT}. Load it with the version that wrote it."
        )
    try:
        content = path.read_bytes()
        types = skops_io.get_untrusted_types(data=content)
        foreign = _foreign(types, content)
        if not foreign:
            return skops_io.loads(content, trusted=types)
    except ImportError:
        raise
    except Exception as error:  # a damaged file can fail anywhere
        raise ValueError(
            f"{path}, written by {writer}, cannot be read: it is damaged, or its models have "
            f"changed since ({type(error).__name__})."
        ) from error
    raise ValueError(
        f"{path} holds {', '.join(foreign)}, which is not a type of this library: the file was "
        "changed, or made by something else, and is not loaded."
    )


def _skops() -> Any:
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise ImportError('saving and loading need skops: pip install "sagdiv[io]".') from error
    return skops.io


def _read_note(path: Path) -> dict[str, Any]:
    if is_zipfile(path):
        try:
            with ZipFile(path) as archive:
                damaged = archive.testzip()
                note = json.loads(archive.read(_NOTE))
        except (BadZipFile, KeyError, ValueError, OSError, NotImplementedError, RuntimeError):
            pass
        else:
            if damaged is None and isinstance(note, dict):
                return note
    raise ValueError(f"{path} is damaged, or not a file that sagdiv.save wrote.")


def _foreign(types: list[str], content: bytes) -> list[str]:
    """Return what must not be loaded, of the names that skops does not know itself."""
    with ZipFile(BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
    called = {name for loader, name in _nodes(schema) if loader not in _LOADERS}
    return [name for name in types if name in called or not _is_ours(name)]


def _nodes(tree: Any) -> Iterator[tuple[str, str]]:
    """Yield how, and of what type, each object of a file is to be made."""
    if isinstance(tree, dict):
        if "__loader__" in tree:
            yield tree["__loader__"], f"{tree['__module__']}.{tree['__class__']}"
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _nodes(branch)


def _is_ours(name: str) -> bool:
    """Whether a name is that of a class of this package, or of what else a file may name."""
    if name in _FUNCTIONS:
        return True
    owner, _, member = name.rpartition(".")
    return _is_class(name) or (member in _METHODS and _is_class(owner))


def _is_class(name: str) -> bool:
    module_name, _, class_name = name.rpartition(".")
    if module_name.split(".")[0] != "sagdiv":
        return False
    try:
        found = getattr(import_module(module_name), class_name)
    except (ModuleNotFoundError, AttributeError) as error:
        missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
        if missing == "torch":
            raise ImportError(f"this model {NEEDS_TORCH}") from error
        if missing and not missing.startswith("sagdiv"):
            raise ImportError(f"this model needs {missing}, which is missing.") from error
        return False
    return isinstance(found, type) and found.__module__.split(".")[0] == "sagdiv"
