"""Digests of the inputs of a study: files whose numbers and statements determine its results.

A stored run contains the digest of every input. If an input changes, `changed_inputs` returns its
name until the study has been recomputed. Digests ignore what cannot change a result: comments,
docstrings, annotations, imports, layout of files and order of keys.

The inputs of a paper are the modules and ``published.json`` of its folder, ``config/PAPER.yaml``,
the rule for verdicts, and the files in `Findings.inputs`, such as the URDF of a robot.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import share_directory

PACKAGE = "manip_dyn"
RULE = f"{PACKAGE}/studies/report/claims.py"
"""Module with the rule for verdicts."""
DIGITS = 16
"""Length of a stored digest."""
NO_RESULT = (ast.Import, ast.ImportFrom)
IGNORED = frozenset({"annotation", "ctx", "kind", "returns", "type_comment", "type_params"})
"""Attributes of syntax nodes that do not change a result or depend on the version of Python."""


def input_digests(paper: str, others: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the digest of each input of a paper by name of the file.

    A paper without a folder in `manip_dyn.studies` has no inputs.

    Args:
        paper: Name of the paper.
        others: Names of additional inputs, below the root of the repository.

    Raises:
        ManipDynError: If an input is missing or cannot be parsed.
    """
    folder = _path(f"{PACKAGE}/studies/{paper}")
    if not folder.is_dir():
        return {}
    own = [f"{PACKAGE}/studies/{paper}/{file.name}" for file in folder.glob("*.py")] + [
        f"{PACKAGE}/studies/{paper}/published.json",
        f"config/{paper}.yaml",
        RULE,
    ]
    digests = {}
    for name in sorted((*own, *others)):
        try:
            digests[name] = digest(name, _path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError, yaml.YAMLError, ElementTree.ParseError) as error:
            raise ManipDynError(
                f"input of a study must be readable, got '{name}': {error}."
            ) from error
    return digests


def changed_inputs(stored: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """Return the names of inputs that differ from those of a stored run."""
    names = sorted({*stored, *current})
    return [name for name in names if stored.get(name) != current.get(name)]


def digest(name: str, text: str) -> str:
    """Return the digest of the content of a file with the suffix py, json, yaml or urdf."""
    kind = Path(name).suffix
    content: Any
    if kind == ".py":
        content = list(_statements(ast.parse(text)))
    elif kind == ".json":
        content = json.loads(text)
    elif kind == ".yaml":
        content = yaml.safe_load(text)
    else:
        content = _element(ElementTree.fromstring(text))
    dumped = json.dumps(content, sort_keys=True, default=repr)
    return hashlib.sha256(dumped.encode()).hexdigest()[:DIGITS]


def _path(name: str) -> Path:
    """Return the path of a file in the package or in the share directory."""
    if name.startswith(f"{PACKAGE}/"):
        return Path(__file__).resolve().parents[3] / name
    return share_directory() / name


def _statements(node: ast.AST) -> Iterator[str]:
    """Yield types and values of a syntax tree in order, without docstrings and imports."""
    yield type(node).__name__
    for key, value in ast.iter_fields(node):
        if key in IGNORED:
            continue
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, ast.AST):
                yield f"{key}={item!r}"
            elif not (isinstance(item, NO_RESULT) or _is_docstring(item)):
                yield from _statements(item)


def _is_docstring(node: ast.AST) -> bool:
    """Return whether a node is a string that stands alone as a statement."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def _element(element: ElementTree.Element) -> list[Any]:
    """Return an XML element as nested lists of tags, attributes and text."""
    text = (element.text or "").strip()
    return [element.tag, dict(element.attrib), text, [_element(child) for child in element]]
