"""How Sphinx builds the documentation: `make docs`."""

import shutil
import sys
from pathlib import Path
from typing import Any

from codekin import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_figures

project = "codekin"
copyright = "the codekin developers"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/sg_execution_times.rst", "sg_execution_times.rst"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "imported-members": True, "inherited-members": True, "no-value": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give the types, with shapes
autosummary_generate = False  # the reference lists what a folder exports; there are no pages per name
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",  # made by the build; an example runs again if it has changed
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"00_demo\.py",  # a program with options that writes pages: make demo
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("gallery_figures.on_both_papers",),
    "reset_modules": ("gallery_figures.with_our_style",),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # times of a documentation build say nothing about codekin
}

html_theme = "furo"
html_title = f"codekin {release}"
html_static_path = ["static"]
html_css_files = ["gallery.css"]


def is_ours(member: Any) -> bool:
    """Whether codekin defines this attribute of a class; what scikit-learn or Python defines is theirs to document."""
    function = getattr(member, "__func__", None) or getattr(member, "fget", None) or getattr(member, "func", member)
    home = getattr(function, "__module__", None) or getattr(getattr(function, "__objclass__", None), "__module__", None)
    return home is None or home.startswith("codekin")


def _is_left_out(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    return skip or (what in ("class", "exception") and not is_ours(obj))


def _copy_pictures(app: Any, exception: Exception | None) -> None:
    """Put the pictures for light and dark pages where pages expect them; Sphinx does not look into <picture>."""
    if exception is None and app.builder.format == "html":
        shutil.copytree(Path(app.srcdir) / "pictures", Path(app.outdir) / "pictures", dirs_exist_ok=True)


def setup(app: Any) -> None:
    """Tell Sphinx what to leave out and what to copy."""
    app.connect("autodoc-skip-member", _is_left_out)
    app.connect("build-finished", _copy_pictures)
