"""The public API and its snapshot: `make api` rewrites public_api.txt after an intended change.

Public are the names in ``__all__`` of the package and of the modules that ``docs/api`` lists, with their attributes:
their own and those inherited from other classes of codekin. The pages of the reference follow the same rule.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import codekin
import codekin_studies
from tests.conftest import ROOT

REFERENCE = ROOT / "docs" / "api"
SNAPSHOT = Path(__file__).with_name("public_api.txt")

is_ours = runpy.run_path(str(ROOT / "docs" / "conf.py"))["is_ours"]


def all_modules() -> list[str]:
    """Every importable module of the two packages whose name has no leading underscore, shortest first."""
    names = []
    for package in (codekin, codekin_studies):
        names.append(package.__name__)
        for found in pkgutil.walk_packages(package.__path__, prefix=f"{package.__name__}."):
            if not any(part.startswith("_") for part in found.name.split(".")):
                names.append(found.name)
    return sorted(names, key=lambda name: (name.count("."), name))


def public_modules() -> list[str]:
    """The modules on the pages of the reference. Others are where things are kept, not where users find them."""
    pages = [page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")]
    return sorted(name for page in pages for name in re.findall(r"^.. automodule:: (\S+)$", page, re.MULTILINE))


def public_objects() -> dict[str, Any]:
    """Every public name, by the path under which users import it."""
    modules = [(name, importlib.import_module(name)) for name in public_modules()]
    return {f"{path}.{name}": getattr(module, name) for path, module in modules for name in sorted(module.__all__)}


def public_members(owner: type) -> dict[str, Any]:
    """The methods, properties and other attributes of a class that codekin defines, as the class has them."""
    members = {}
    for name in dir(owner):
        member = inspect.getattr_static(owner, name)
        if not name.startswith("_") and is_ours(getattr(owner, name)) and is_ours(member):
            members[name] = member
    return members


def public_api() -> list[str]:
    """What the package exports, then what each name is and how it is called."""
    exported = ", ".join(sorted(codekin.__all__))
    described = [line for path, value in public_objects().items() for line in _described(path, value)]
    return [f"exports of codekin: {exported}", *described]


def _described(path: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield f"class {path}{_signature(value)}"
        yield from _described_members(value)
    elif inspect.isfunction(value):
        yield f"def {path}{_signature(value)}"
    elif isinstance(value, dict | tuple):
        yield f"table {path}: {', '.join(map(str, value))}"
    else:
        yield f"value {path}"


def _described_members(owner: type) -> Iterator[str]:
    members = public_members(owner)
    methods = {name: getattr(owner, name) for name in members if _is_method(getattr(owner, name))}
    # The constructor lists the fields of a dataclass.
    fields = [field.name for field in dataclasses.fields(owner)] if dataclasses.is_dataclass(owner) else []
    if attributes := [name for name in members if name not in methods and name not in fields]:
        yield f"    has {', '.join(attributes)}"
    for name, method in methods.items():
        yield f"    def {name}{_signature(method)}"


def _is_method(member: Any) -> bool:
    return inspect.isfunction(member) or inspect.ismethod(member)


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [_without_annotation(parameter) for parameter in signature.parameters.values()]
    return str(inspect.Signature(parameters)).replace("Ellipsis", "...")


def _without_annotation(parameter: inspect.Parameter) -> inspect.Parameter:
    """Names, kinds and plain defaults are the promise; annotations and default objects are documentation."""
    is_plain = parameter.default is parameter.empty or isinstance(parameter.default, str | int | float | tuple | None)
    return parameter.replace(annotation=parameter.empty, default=parameter.default if is_plain else ...)


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(public_api()) + "\n", encoding="utf-8")
