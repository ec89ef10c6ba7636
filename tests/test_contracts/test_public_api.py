"""The public API changes only on purpose, and is small enough to know."""

import ast
import importlib
import inspect
from collections import Counter

import pytest

import codekin
from codekin.estimators import ECOCClassifier, ExtremeClassifier
from tests.test_contracts.public_api import (
    REFERENCE,
    SNAPSHOT,
    public_api,
    public_members,
    public_modules,
    public_objects,
)
from tests.test_contracts.test_documents import WITH_EXAMPLES, fenced, name_of

# TextClassifier, its report, an evaluation, LinearSVM, VectorSoftmax, measures of several labels; reports by class,
# suspected labels, a bar for notebooks; identifiers of items
MOST_NAMES = 134
MOST_LINES = 439  # 19 of them repeat the members of ExtremeClassifier for TrellisClassifier, its preset and old name


def test_the_public_api_is_as_written_down():
    before, now = SNAPSHOT.read_text(encoding="utf-8").splitlines(), public_api()
    gone = [f"- {line}" for line in before if line not in set(now)]
    new = [f"+ {line}" for line in now if line not in set(before)]
    assert before == now, "\n".join(["the public API changed; if that was meant, run `make api`:", *gone, *new])


def test_the_public_api_is_small():
    documented = {
        id(value) for value in public_objects().values() if inspect.isclass(value) or inspect.isroutine(value)
    }
    assert len(documented) <= MOST_NAMES
    assert len(public_api()) <= MOST_LINES


def test_every_page_of_the_reference_is_in_its_index_and_lists_all_that_its_modules_export():
    pages = {page.stem: page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")}
    index = pages.pop("index").splitlines()
    assert set(pages) <= set(index)
    # An option of autodoc would make a page differ from __all__; those that hold for all pages are in docs/conf.py.
    assert not [name for name, page in pages.items() if "automodule" in page and "   :" in page]


def test_values_that_are_imported_from_elsewhere_are_described_by_hand():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    for path, value in public_objects().items():
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            module, _, name = path.rpartition(".")
            # Sphinx finds the descriptions of values only where they are defined.
            is_defined_there = f"\n{name}" in inspect.getsource(importlib.import_module(module))
            assert is_defined_there != (f".. py:data:: {name}\n" in pages), path


def test_modules_that_import_late_list_what_they_have():
    for module in map(importlib.import_module, public_modules()):
        assert set(module.__all__) <= set(dir(module))


def test_exported_names_exist_and_stand_once():
    problems = []
    for module in map(importlib.import_module, public_modules()):
        problems += [f"{module.__name__}.{name} does not exist" for name in module.__all__ if not hasattr(module, name)]
        twice = [name for name, count in Counter(module.__all__).items() if count > 1]
        problems += [f"{module.__name__}.{name} stands in __all__ twice" for name in twice]
    assert not problems, "\n" + "\n".join(problems)


def test_the_package_exports_what_the_reference_documents():
    documented = {id(value) for value in public_objects().values()}
    assert not [name for name in codekin.__all__ if name[0] != "_" and id(getattr(codekin, name)) not in documented]


def test_examples_use_public_names_only():
    public = {*public_objects(), *(f"codekin.{name}" for name in codekin.__all__)}
    private = []
    for document in WITH_EXAMPLES:
        nodes = [node for block in fenced(document, "python") for node in ast.walk(ast.parse(block))]
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        used = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        private += [f"{name_of(document)}: {name}" for name in used - public if name.startswith("codekin")]
    assert not private, "\n" + "\n".join(private)


@pytest.mark.parametrize("classifier", [ECOCClassifier, ExtremeClassifier])
def test_methods_that_classifiers_inherit_are_public_and_those_of_scikit_learn_are_theirs(classifier):
    members = public_members(classifier)
    inherited = {"predict", "predict_proba", "predict_log_proba", "top_k", "report", "add_classes"}
    assert inherited <= set(members)
    assert not {"get_params", "set_params", "set_fit_request"} & set(members)
