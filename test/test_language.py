"""Language: pages, docstrings, comments, strings and names use the words of the field.

CONTRIBUTING describes the style. A failure lists file, line, word and a replacement.
"""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import manip_dyn as md

ROOT = Path(md.__file__).parents[1]
REPLACEMENTS = {
    "told|tells?|telling": "reported, reports, logs, is set by",
    "kept": "cached, stored, satisfied, retained",
    "besides?": "next to, compared with, in addition",
    "amid": "during",
    "who(so)?ever": "any user, any caller",
    "go(es|ing)? on|went on": "continues",
    "refus(e|es|ed|al|als|ing)": "rejects, raises, does not accept",
    "worth": "rephrase",
    "at need": "if needed",
    "(by|of) itself": "automatically",
    "doors?": "modules, functions, entry points",
    "anew": "again, restarts",
    "turns? back": "reverses",
    "shares? of": "fraction of",
    "so many|as many": "n, the same number of",
    "texts": "strings",
    "hears?|heard|hearing": "receives, received",
    "asks?|asked|asking": "requests, calls, queries",
    "knows": "stores, has, contains",
    "wants?|wanted": "requires, requested, desired",
    "says?|said|saying": "states, reports, logs",
    "nobody|anybody|somebody|everybody": "no caller, a user, any",
    "takes? over|takeover|taken over": "handover",
    "regroup\\w*": "base parameters",
    "worn": "needs repartition",
    "misfits?": "residual",
    "seeming\\w*": "apparent, estimated",
    "hindrances?": "obstacle, reason",
    "spoken|speaks?": "rephrase",
    "thereof|therein|thereby|henceforth|hitherto|anyhow|for good": "rephrase",
    "runs? away": "diverges",
    "returns? what": "Return the NOUN",
    "what (is|are|was) (left|asked|meant|given|made|known|done|needed|missing)": "a noun",
    "what (varies|comes out|goes in|it (is|does|needs|takes|has))": "a noun",
    "where there is (none|no)": "without, fallback",
    "stands? once": "is in one place",
    "of (its|one's|their|your|his) own": "own, separate, custom",
}
RULES = [
    (re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE), replacement)
    for words, replacement in REPLACEMENTS.items()
]
VARIABLES = frozenset(("made", "given", "told", "found", "known", "each", "other"))
"""Names that are not nouns. `other` is allowed as the argument of operators."""
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|https?://\S+|--[\w-]+|[\w./-]*[_/\\.][\w./-]*\w")
"""Names and addresses, which are not prose."""
LABEL = re.compile(r"^\s+\w+: ")
"""Name of an argument in a docstring."""

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.rst",
]
MODULES = [
    file
    for folder in ("manip_dyn", "examples", "launch", "test", "docs")
    for file in sorted(ROOT.glob(f"{folder}/**/*.py"))
    if file.name not in (Path(__file__).name, "test_deprecated_names.py")
]

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not a checkout")


def findings(file, prose):
    """Yield a message for each word to replace; `prose` yields lines with their numbers."""
    for number, line in prose:
        text = LABEL.sub("", CODE.sub(" ", line))
        for rule, replacement in RULES:
            for match in rule.finditer(text):
                word = match[0]
                yield f"{file.relative_to(ROOT)}:{number}: '{word}': write {replacement}"


def lines_of_page(file):
    """Yield the lines of a page."""
    yield from enumerate(file.read_text(encoding="utf-8").splitlines(), 1)


def lines_of_module(source):
    """Yield the lines of docstrings, strings with spaces, and comments."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT":
            yield token.start[0], token.string
        elif kind == "FSTRING_MIDDLE" or (kind == "STRING" and " " in token.string.strip()):
            prefix = token.string[: token.string.find(token.string[-1])]
            text = re.sub(r"\{[^{}]*\}", " ", token.string) if "f" in prefix else token.string
            for offset, line in enumerate(text.splitlines()):
                yield token.start[0] + offset, line


def names_of_module(source):
    """Yield the names of variables and arguments with their lines, except deprecated names."""
    tree = ast.parse(source)
    aliases = {
        id(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "renamed_attribute(" in ast.unparse(node.value)
        for target in node.targets
    }
    for node in ast.walk(tree):
        if id(node) in aliases:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
            operator = node.name.startswith("__")
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                if not (operator and argument.arg == "other"):
                    yield argument.lineno, argument.arg


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(file):
    assert list(findings(file, lines_of_page(file))) == []


def test_modules_use_the_words_of_the_field():
    messages = [
        message
        for file in MODULES
        for message in findings(file, lines_of_module(file.read_text(encoding="utf-8")))
    ]
    assert not messages, "\n".join(messages)


def test_variables_are_nouns():
    messages = [
        f"{file.relative_to(ROOT)}:{line}: variable '{name}': write a noun"
        for file in MODULES
        for line, name in names_of_module(file.read_text(encoding="utf-8"))
        if name.strip("_") in VARIABLES
    ]
    assert not messages, "\n".join(messages)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('"""Return what was told."""', ["told", "Return what"]),
        ("x = 1  # kept on disk", ["kept"]),
        ('raise ValueError(f"{x} refuses {who}")', ["refuses"]),
        ("kept = 'told'", []),
        ('"""Return `told`."""', []),
    ],
)
def test_planted_words_are_detected(source, words):
    messages = list(findings(ROOT / "example.py", lines_of_module(source)))
    assert [re.search(r"'(.*)':", message)[1] for message in messages] == words
