"""The site: ``make docs`` builds it in build/site, without network access.

With ``plot_gallery=0``, as in the tests, examples are shown but not run.
"""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "site"), str(HERE.parent)]
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
)

import manip_dyn  # noqa: E402
from manip_dyn.core.cache import disable_announcements  # noqa: E402

disable_announcements()  # example pages must not contain messages about compilation

project, author, copyright = "manip_dyn", "manip_dyn maintainers", "2026, manip_dyn maintainers"  # noqa: A001
version = release = manip_dyn.__version__

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",  # the reference, from docstrings
    "sphinx.ext.napoleon",  # in Google's style
    "sphinx.ext.viewcode",  # links from the reference to the source code
    "sphinx_gallery.gen_gallery",  # examples/ as pages, pictures and notebooks
    "sphinxarg.ext",  # commands and options, from their parsers
    "sphinx_copybutton",
    "sphinx_design",  # cards
    "pages",  # docs/site/pages.py: links that hold here and on a code host, charts
]
exclude_patterns = ["site", "pictures", "gallery/*.ipynb", "gallery/*.py", "gallery/README.*"]
nitpicky = True
suppress_warnings = ["config.cache"]  # Sphinx cannot hash the gallery options

myst_enable_extensions = ["colon_fence", "attrs_inline"]
default_role = "code"  # `name` in docstrings, as in Markdown
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Vector", "Matrix", "NDArray")}
autoclass_content = "both"
autodoc_default_options = {"members": True}  # any value would enable undoc-members
python_use_unqualified_type_names = True
add_module_names = False
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "furo"
html_title = f"manip_dyn {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5cad",
        "color-brand-content": "#0b5cad",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
    },
    "dark_css_variables": {"color-brand-primary": "#6cb6ff", "color-brand-content": "#6cb6ff"},
}
copybutton_prompt_text = "$ "

UNIT_ALONE = re.compile(r"^(\s+[\w*]+: )(\w\.)$")


def setup(app):
    """Escape a unit such as in ``duration: s.``, which docutils would parse as a list item."""

    def escape(_app, _what, _name, _object, _options, lines):
        lines[:] = [UNIT_ALONE.sub(r"\1\\\2", line) for line in lines]

    app.connect("autodoc-process-docstring", escape, priority=400)  # before napoleon
