"""The site: no warnings, and a complete reference."""

import argparse
import importlib
import shutil
from pathlib import Path

import pytest
from command_line import parser_of

import manip_dyn as md
from manip_dyn.cli import COMMANDS

ROOT = Path(md.__file__).parents[1]
DOCUMENTED = ("robot", "codegen", "integration", "control", "simulation", "clik", "planning")
DOCUMENTED += ("planning.path_timing", "multibody", "studies", "bench")
DOCUMENTED += ("viewer", "recording", "inspection", "identification")
DOCUMENTED += ("ensembles", "ensembles.sweeps", "export")

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not a checkout")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Read all pages and resolve all references, without running examples or writing pages."""
    for package in ("myst_parser", "furo", "sphinx_gallery", "sphinxarg", "sphinx_design"):
        pytest.importorskip(package, reason="the site needs pip install '.[docs]'")
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    home = tmp_path_factory.mktemp("site")
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, home / folder, ignore=shutil.ignore_patterns("gallery"))
    for name in ("benchmarks", "config", "README.md"):
        (home / name).symlink_to(ROOT / name)
    docs, out = str(home / "docs"), str(home / "out")
    with docutils_namespace(), (home / "warnings").open("w+") as warnings:
        app = Sphinx(
            *(docs, docs, out, out + "/doctrees", "dummy"),
            confoverrides={"plot_gallery": "0", "smartquotes": "0"},
            status=None,
            warning=warnings,
        )
        app.build()
        warnings.seek(0)
        app.warning_text = warnings.read()
        yield app


def test_the_site_builds_without_warnings(site):
    """No broken links, unknown names, pages outside of all menus, or invalid markup."""
    assert site.warning_text == ""
    assert len(site.env.found_docs) > 40


def test_search_results_have_short_titles_and_include_installation(site):
    """Regression: titles of commands were their descriptions, of up to 500 characters."""
    from sphinx.search import IndexBuilder

    index = IndexBuilder(site.env, "en", {}, "")
    for name in ("index", "install"):
        document = site.env.get_doctree(name)
        index.feed(name, f"{name}.md", site.env.titles[name].astext(), document)
    index = index.freeze()
    for word in ("instal", "licens", "docker"):
        assert {word} <= {*index["terms"], *index["titleterms"]}
    for domain in site.env.domains.sorted():
        assert all(len(title) <= 80 for _, title, *_ in domain.get_objects())


def test_links_to_examples_lead_to_the_gallery(site):
    """The same links lead to the scripts in the repository."""
    from sphinx.addnodes import download_reference, pending_xref

    page = site.env.get_doctree("index")
    links = [node["reftarget"] for node in page.findall(pending_xref)]
    assert "gallery/05_singular_posture" in [link.removesuffix(".rst") for link in links]
    assert not list(page.findall(download_reference))


@pytest.mark.parametrize("package", ["manip_dyn", *(f"manip_dyn.{name}" for name in DOCUMENTED)])
def test_every_public_name_is_in_the_reference(site, package):
    documented = {name.rpartition(".")[2] for name in site.env.get_domain("py").objects}
    assert sorted(set(importlib.import_module(package).__all__) - documented) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_the_reference(site, command):
    page = site.env.get_doctree("reference/command_line")
    (section,) = [
        node
        for node in page.findall(lambda node: node.tagname == "section")
        if node[0].astext().split()[-1] == command
    ]
    words = set(section.astext().replace(",", " ").replace("=", " ").split())
    for action in parser_of(command)._actions:
        if action.help == argparse.SUPPRESS:
            continue
        names = action.option_strings or [action.dest]
        assert words >= set(names) - {"-h", "--help"}, names
