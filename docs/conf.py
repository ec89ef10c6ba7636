"""How Sphinx builds the documentation: `make docs`."""

from typing import Any

from codekin import __version__

project = "codekin"
copyright = "the codekin developers"
version = release = __version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"no-value": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give the types, with shapes
autosummary_generate = False  # the reference lists what a folder exports; there are no pages per name
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"codekin {release}"


def _is_left_out(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    # Made by scikit-learn for metadata routing; their docstrings refer to its own pages.
    return skip or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Any) -> None:
    """Tell Sphinx what to leave out."""
    app.connect("autodoc-skip-member", _is_left_out)
