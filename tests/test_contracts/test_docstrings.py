"""Everything has a docstring: public names pass the numpydoc checks of pyproject.toml, others have a sentence.

Functions with at most one argument need only a sentence; those with more, or with any section, need all sections.
Implementations need not repeat the docstrings of protocols, and overrides inherit those of their base classes.
"""

import importlib
import inspect
import tomllib
from collections.abc import Iterator
from typing import Any

from numpydoc.validate import validate

from tests.conftest import ROOT
from tests.test_contracts.public_api import all_modules, public_members, public_objects

CHECKS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"])
SECTIONS = {"PR01", "RT01"}

PUBLIC = {
    path: value for path, value in public_objects().items() if inspect.isclass(value) or inspect.isfunction(value)
}
OF_PROTOCOLS = {
    name
    for value in PUBLIC.values()
    if getattr(value, "_is_protocol", False)
    for name in vars(value)
    if not name.startswith("_")
}


def test_public_names_are_documented():
    problems = [
        problem
        for path, value in PUBLIC.items()
        for problem in _problems(path, value, {"GL08"} if _is_protocol(value) else CHECKS)
    ]
    assert not problems, "\n" + "\n".join(problems)


def test_modules_and_what_they_define_have_a_docstring():
    silent = []
    for module_name in all_modules():
        module = importlib.import_module(module_name)
        silent += [] if module.__doc__ else [module_name]
        for name, value in vars(module).items():
            if not name.startswith("_") and getattr(value, "__module__", None) == module_name and callable(value):
                silent += [] if value.__doc__ else [f"{module_name}.{name}"]
    assert not silent, f"no docstring: {silent}"


def _problems(path: str, value: Any, checks: set[str]) -> Iterator[str]:
    yield from _errors(path, value, checks - _excused(value))
    if inspect.isclass(value) and not _is_protocol(value):
        for name, member in public_members(value).items():
            if inspect.isfunction(getattr(value, name)) or isinstance(member, property | classmethod):
                excused = SECTIONS if name in OF_PROTOCOLS else _excused(getattr(value, name), is_member=True)
                yield from _errors(f"{path}.{name}", getattr(value, name), checks - excused)


def _errors(path: str, value: Any, checks: set[str]) -> Iterator[str]:
    if not value.__doc__:  # numpydoc fails on some of these
        if not inspect.getdoc(value):
            yield f"{path}: GL08 no docstring"
        return
    yield from (f"{path}: {code} {message}" for code, message in validate(path)["errors"] if code in checks)


def _excused(value: Any, is_member: bool = False) -> set[str]:
    if inspect.isclass(value):
        return SECTIONS if _names_its_base(value) else {"RT01"}
    if isinstance(value, property):
        return SECTIONS
    n_arguments = len(inspect.signature(value).parameters) - (is_member and inspect.isfunction(value))
    has_sections = "\n----" in inspect.cleandoc(value.__doc__ or "")
    return SECTIONS if n_arguments <= 1 and not has_sections else set()


def _names_its_base(value: Any) -> bool:
    """Whether a class has the parameters of its base and says so."""
    base = value.__base__
    if f":class:`{base.__name__}`" not in (value.__doc__ or ""):
        return False
    return inspect.signature(value).parameters.keys() == inspect.signature(base).parameters.keys()


def _is_protocol(value: Any) -> bool:
    return getattr(value, "_is_protocol", False)
