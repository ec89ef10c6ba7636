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

autodoc_default_options = {"members": True, "imported-members": True, "inherited-members": True, "no-value": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give the types, with shapes
autosummary_generate = False  # the reference lists what a folder exports; there are no pages per name
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"codekin {release}"


def is_ours(member: Any) -> bool:
    """Whether codekin defines this attribute of a class; what scikit-learn or Python defines is theirs to document."""
    function = getattr(member, "__func__", None) or getattr(member, "fget", None) or getattr(member, "func", member)
    home = getattr(function, "__module__", None) or getattr(getattr(function, "__objclass__", None), "__module__", None)
    return home is None or home.startswith("codekin")


def _is_left_out(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    return skip or (what in ("class", "exception") and not is_ours(obj))


def setup(app: Any) -> None:
    """Tell Sphinx what to leave out."""
    app.connect("autodoc-skip-member", _is_left_out)
