"""How large the packages are: limits that only fall."""

import ast
from collections import defaultdict
from functools import cache

import pytest

from tests.conftest import ROOT

SOURCES = ROOT / "src"
LIMITS = {
    "codekin": {"lines": 56_844, "modules": 238, "long modules": 0, "single-importer siblings": 15},
    "codekin_studies": {"lines": 8_344, "modules": 42, "long modules": 0, "single-importer siblings": 8},
}
"""The goals for codekin are 40,000, 230, 0 and 25. A classifier of texts came on top, with its evaluation, the
readers of tables (CSV, JSON lines, Parquet, folders of texts), features of rows with numbers and categories, and what
scikit-learn did before: features of texts; then support vector machines of all classes at once, 240 lines; kernels that
are called without Numba, and predictions without scikit-learn, 500 lines; vectors beside texts, from files, columns and
arrays, 458 lines; the choice between codes and the learner as it is, 409
lines; vectors for the classes of dense samples, 1,037 lines; several labels: measures, readers and commands, 968;
training without scikit-learn, and kernels without LLVM, 324; answers that are none or groups of classes, 610. Reports
by class and suspected labels take 870, identifiers of
items 230, hints to the processor 55, KinshipOrder and the command that writes a study's configuration 177. The goal for
codekin_studies is 7,000; studies of anybody's data take 1,354."""
LONG = 400
"""The number of lines above which a module is long."""


@cache
def modules(package: str) -> dict[str, str]:
    """The text of every module."""
    paths = sorted((SOURCES / package).rglob("*.py"))
    names = [".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in paths]
    return {
        name.removesuffix(".__init__"): path.read_text(encoding="utf-8")
        for name, path in zip(names, paths, strict=True)
    }


def imported(text: str) -> set[str]:
    """The names that a module imports; a name of ``from a import b`` may be a module or not."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def single_importer_siblings(package: str) -> dict[str, str]:
    """Modules whose only importer is another module of the same folder, which is not its ``__init__``."""
    importers = defaultdict(set)
    for importer, text in modules(package).items():
        for name in imported(text):
            importers[name].add(importer)
    only = {name: next(iter(importers[name])) for name in modules(package) if len(importers[name]) == 1}
    return {name: importer for name, importer in only.items() if importer.rpartition(".")[0] == name.rpartition(".")[0]}


@pytest.mark.parametrize("package", LIMITS)
def test_packages_do_not_grow(package):
    lengths = [len(text.splitlines()) for text in modules(package).values()]
    counted = {
        "lines": sum(lengths),
        "modules": len(lengths),
        "long modules": sum(length > LONG for length in lengths),
        "single-importer siblings": len(single_importer_siblings(package)),
    }
    longer = [what for what, limit in LIMITS[package].items() if counted[what] > limit]
    assert not longer, f"{counted}, at most {LIMITS[package]}"
