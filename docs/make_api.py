"""Write ``docs/api.md`` from the docstrings: ``python docs/make_api.py``, or ``make docs``."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
MODULES = [
    *("sagdiv", "sagdiv.losses", "sagdiv.sets", "sagdiv.steps"),
    *("sagdiv.density_ratio", "sagdiv.operators", "sagdiv.outcome", "sagdiv.features"),
    *("sagdiv.inference", "sagdiv.plotting", "sagdiv.formula", "sagdiv.report"),
    *("sagdiv.datasets", "sagdiv.baselines", "sagdiv.neural"),
    *("sagdiv.experiments", "sagdiv.protocols", "sagdiv.exceptions"),
]
_SECTIONS = {"Parameters", "Attributes", "Returns", "Raises", "Examples", "References", "Yields"}
_LISTED = {"Parameters", "Attributes", "Raises"}


def public_names(module: Any) -> list[str]:
    """Return what a module offers, the names behind an extra included."""
    return [*module.__all__, *sorted(set(getattr(module, "_DEEP", {})) - set(module.__all__))]


def api() -> str:
    """Return the page."""
    parts = [
        "# API reference",
        "Written by `make docs` from the docstrings; change those, not this page. "
        "The pages that explain are in [the contents](README.md).",
        "\n".join(f"- [`{name}`](#{_anchor(name)})" for name in MODULES),
    ]
    seen: dict[int, str] = {}
    for name in MODULES:
        module = import_module(name)
        parts += [f"## `{name}`", _prose(_first_paragraph(module))]
        for public in public_names(module):
            member = getattr(module, public)
            parts += _entry(name, public, member, seen)
    return "\n\n".join(part for part in parts if part) + "\n"


def _entry(module: str, name: str, member: Any, seen: dict[int, str]) -> list[str]:
    heading = f"### `{module}.{name}`"
    if not (inspect.isclass(member) or inspect.isfunction(member)):
        return [heading, f"`{member!r}`"]
    if id(member) in seen:
        return [heading, f"The same as `{seen[id(member)]}`."]
    seen[id(member)] = f"{module}.{name}"
    parts = [heading, f"```text\n{name}{_signature(member)}\n```", *_docstring(member)]
    if inspect.isclass(member) and (methods := _methods(member)):
        parts += ["**Methods and properties**", "\n".join(methods)]
    return parts


def _signature(member: Any) -> str:
    try:
        signature = inspect.signature(member)
    except (TypeError, ValueError):
        return ""
    plain = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<(?:class|function) '?(?:[\w.]*\.)?(\w+)'?[^>]*>", r"\1", text)


def _methods(cls: type) -> list[str]:
    """One line for each public method and property that this package defines."""
    lines = []
    for name, member in inspect.getmembers(cls):
        function = member.fget if isinstance(member, property) else member
        wrapped = inspect.unwrap(function) if callable(function) else function
        home = getattr(wrapped, "__module__", None) or ""
        if name.startswith("_") or not home.startswith("sagdiv") or inspect.isclass(member):
            continue
        if not (text := _first_paragraph(member)):
            continue
        call = "" if isinstance(member, property) else _signature(wrapped)
        lines.append(f"- `{name}{call}`: {_prose(text)}")
    return lines


def _docstring(member: Any) -> list[str]:
    lines = inspect.getdoc(member).splitlines() if member.__doc__ else []
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line in _SECTIONS and set(below) == {"-"}:
            sections.append((line, []))
        elif set(line) != {"-"}:
            sections[-1][1].append(line)
    parts = [_paragraphs("\n".join(sections[0][1]))]
    for title, body in sections[1:]:
        text = "\n".join(body).strip("\n")
        if title in _LISTED:
            parts += [f"**{title}**", _definitions(text)]
        elif title == "Examples":
            parts += ["**Examples**", f"```pycon\n{text}\n```"]
        else:
            parts.append(f"**{title}:** {_paragraphs(inspect.cleandoc(text))}")
    return parts


def _definitions(text: str) -> str:
    """Turn ``name : type`` with indented text into a list."""
    lines = []
    for block in re.split(r"\n(?=\S)", text):
        head, _, body = block.partition("\n")
        name, _, kind = head.partition(" : ")
        item = f"- `{name}`" + (f" ({_prose(kind)})" if kind else "")
        lines.append(item + (f": {_prose(inspect.cleandoc(body))}" if body.strip() else ""))
    return "\n".join(lines)


def _paragraphs(text: str) -> str:
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(part if "$$" in part else _prose(part) for part in map(_math, parts))


def _math(text: str) -> str:
    match = re.match(r"\.\. math::(.*)", text, re.S)
    return f"$$ {' '.join(match[1].split())} $$" if match else text


def _prose(text: str) -> str:
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    return " ".join(text.replace("``", "`").split())


def _first_paragraph(member: Any) -> str:
    text = inspect.getdoc(member) if getattr(member, "__doc__", None) else ""
    return (text or "").split("\n\n")[0]


def _anchor(name: str) -> str:
    return name.replace(".", "")


if __name__ == "__main__":
    PAGE.write_text(api(), encoding="utf-8")
