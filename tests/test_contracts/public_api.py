"""What is public, and its snapshot on disk: `make api` rewrites public_api.txt after a change that was meant.

Public are the names in ``__all__`` of the package and of its folders, one level down, and their public attributes, but
for the folders listed as internal.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import codekin

INTERNAL = ("cli", "fitting", "kernels")
SNAPSHOT = Path(__file__).with_name("public_api.txt")


def all_modules() -> list[str]:
    """Every importable module of the package whose name has no leading underscore, shortest first."""
    names = [codekin.__name__]
    for found in pkgutil.walk_packages(codekin.__path__, prefix="codekin."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            names.append(found.name)
    return sorted(names, key=lambda name: (name.count("."), name))


def public_modules() -> list[str]:
    """The package and what lies directly in it: deeper modules are where things are kept, not where users find them."""
    return [name for name in all_modules() if name.count(".") <= 1 and name.partition(".")[2] not in INTERNAL]


def public_names(module: ModuleType) -> list[str]:
    """``__all__``, or else what the module itself defines."""
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return sorted(declared)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def public_api() -> list[str]:
    """One line per public name: where it is, what it is, how it is called."""
    lines = []
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        for name in public_names(module):
            path = f"{module_name}.{name}"
            # What the package itself exports is described where it is at home.
            lines += [f"export {path}"] if module_name == "codekin" else _described(path, getattr(module, name))
    return lines


def _described(path: str, value: object) -> Iterator[str]:
    if inspect.isclass(value):
        yield f"class {path}{_signature(value)}"
        # Inherited ones belong to the class that defines them; scikit-learn's are not ours to promise.
        for name, member in sorted(vars(value).items()):
            if not name.startswith("_"):
                yield from _described_member(f"{path}.{name}", member)
    elif callable(value):
        yield f"def {path}{_signature(value)}"
    elif isinstance(value, dict):
        yield from (f"entry {path}[{key!r}]" for key in sorted(value, key=str))
    else:
        yield f"value {path}"


def _described_member(path: str, member: object) -> Iterator[str]:
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if inspect.isfunction(member):
        yield f"    def {path}{_signature(member)}"
    elif not inspect.isclass(member):
        yield f"    attribute {path}"


def _signature(value: object) -> str:
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    # Names, kinds and whether there is a default are the promise; annotations and default objects are documentation.
    parameters = [
        parameter.replace(
            annotation=parameter.empty, default=... if parameter.default is not parameter.empty else parameter.empty
        )
        for parameter in signature.parameters.values()
    ]
    return str(inspect.Signature(parameters)).replace("=Ellipsis", "=...")


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(public_api()) + "\n", encoding="utf-8")
