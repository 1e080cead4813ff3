"""Sphinx configuration: MyST pages, Furo theme, API reference from docstrings."""

import sys
from pathlib import Path

import judgelaw

sys.path.insert(0, str(Path(__file__).parent))
import generated

project = "judgelaw"
author = "The judgelaw contributors"
release = judgelaw.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "judgelaw"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True


def _plain_bars(_app, _what, _name, _obj, _options, lines):  # noqa: ANN001, ANN202 - Sphinx's signature
    """Keep |p| a norm: reStructuredText would take the bars for a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def setup(app):  # noqa: ANN001, ANN201 - Sphinx's signature
    """Write the generated pages, and connect the hook above."""
    generated.write(Path(app.srcdir) / "reference")
    app.connect("autodoc-process-docstring", _plain_bars)
