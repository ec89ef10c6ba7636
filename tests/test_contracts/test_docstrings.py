"""Public names explain themselves: numpydoc's checks, as listed in pyproject.toml.

What takes at most one argument may be explained by a sentence; sections are asked for when it takes more, or once
there is one. Protocols describe what others implement, which need not repeat it.
"""

import importlib
import inspect
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from numpydoc.validate import validate

from tests.conftest import ROOT
from tests.test_contracts.public_api import all_modules, public_modules, public_names

CHECKS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"])
SECTIONS = {"PR01", "RT01"}


MODULES = [name for name in all_modules() if not name.startswith("codekin.kernels.")]
EXPORTED = {
    id(value): value
    for module in map(importlib.import_module, public_modules())
    for value in (getattr(module, name) for name in public_names(module))
    if inspect.isclass(value) or inspect.isfunction(value)
}
OF_PROTOCOLS = {
    name
    for value in EXPORTED.values()
    if getattr(value, "_is_protocol", False)
    for name in vars(value)
    if name[0] != "_"
}


@pytest.mark.parametrize("module_name", MODULES)
def test_public_names_are_documented(module_name):
    module = importlib.import_module(module_name)
    problems = [] if module.__doc__ else [f"{module_name}: no docstring"]
    for name in public_names(module):
        value = getattr(module, name)
        if id(value) in EXPORTED and value.__module__ == module_name:
            problems += _problems(f"{module_name}.{name}", value, {"GL08"} if _is_protocol(value) else CHECKS)
    assert not problems, "\n" + "\n".join(problems)


def test_kernels_say_what_they_change():
    for module_name in all_modules():
        if module_name.startswith("codekin.kernels."):
            module = importlib.import_module(module_name)
            silent = [name for name in public_names(module) if not getattr(module, name).__doc__]
            assert not silent, f"{module_name}: no docstring on {silent}"


def _problems(path: str, value: Any, checks: set[str]) -> Iterator[str]:
    yield from _errors(path, value, checks - _excused(value))
    if inspect.isclass(value) and not _is_protocol(value):
        for name, member in vars(value).items():
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property | classmethod)):
                excused = SECTIONS if name in OF_PROTOCOLS else _excused(getattr(value, name), is_member=True)
                yield from _errors(f"{path}.{name}", getattr(value, name), checks - excused)


def _errors(path: str, value: Any, checks: set[str]) -> Iterator[str]:
    if not value.__doc__:  # numpydoc fails on some of these
        yield f"{path}: GL08 no docstring"
        return
    yield from (f"{path}: {code} {message}" for code, message in validate(path)["errors"] if code in checks)


def _excused(value: Any, is_member: bool = False) -> set[str]:
    if inspect.isclass(value):
        return {"RT01"}
    if isinstance(value, property):
        return SECTIONS
    n_arguments = len(inspect.signature(value).parameters) - (is_member and inspect.isfunction(value))
    has_sections = "\n----" in inspect.cleandoc(value.__doc__ or "")
    return SECTIONS if n_arguments <= 1 and not has_sections else set()


def _is_protocol(value: Any) -> bool:
    return getattr(value, "_is_protocol", False)
