"""What is released says the same everywhere: versions, dependencies, licences."""

import os
import re
import subprocess
import sys
import tomllib

import codekin
from codekin._system.messages import EXTRAS
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")


def lowest(requirements):
    """The lowest version of each package."""
    return dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups() for requirement in requirements)


def numbers(version):
    """The parts of a version, without zeros at the end: 2.0 and 2.0.0 are the same."""
    return re.sub(r"(\.0)+$", "", version).split(".")


def test_the_lowest_versions_are_those_that_are_tested():
    extras = PROJECT["optional-dependencies"]
    allowed = lowest([*PROJECT["dependencies"], *extras["plots"], *extras["onnx"], *extras["serve"]])
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {name: numbers(version) for name, version in tested.items()} == {
        name: numbers(version) for name, version in allowed.items()
    }


def test_messages_name_the_packages_of_each_extra():
    for_users = {name: given for name, given in PROJECT["optional-dependencies"].items() if name not in ("dev", "docs")}
    assert {name: packages.split() for name, packages in EXTRAS.items()} == {
        name: list(lowest(given)) for name, given in for_users.items()
    }


def test_no_message_and_no_page_asks_for_a_package_that_is_not_published():
    """``pip install codekin[plots]`` fails until codekin is on PyPI; the packages themselves can be installed."""
    for path in sorted(path for folder in ("src", "docs", "examples") for path in (ROOT / folder).rglob("*")):
        if path.suffix in (".py", ".md", ".rst") and "_build" not in path.parts:
            assert not re.search(r"pip install '?codekin", path.read_text(encoding="utf-8")), path


def test_the_extra_of_the_docs_has_what_the_reference_imports():
    """Sphinx imports every module of the reference where only this extra is installed."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "api").glob("*.md")))
    modules = re.findall(r"automodule:: ([\w.]+)", pages)
    assert "codekin.deploy.serve" in modules
    (own,) = (given for given in PROJECT["optional-dependencies"]["docs"] if given.startswith("codekin["))
    included = own.removeprefix("codekin[").removesuffix("]").split(",")
    missing = [package for extra, packages in EXTRAS.items() if extra not in included for package in packages.split()]
    code = f"import sys; sys.modules |= dict.fromkeys({missing}); import {', '.join(modules)}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_recipe_of_conda_needs_what_the_package_needs():
    needed = dict(re.findall(r"^    - ([\w-]+) >=([\d.]+)$", RECIPE.partition("  run:")[2], re.MULTILINE))
    assert needed == lowest(PROJECT["dependencies"])
    assert (
        re.search(r'python_min:\s+- "([\d.]+)"', (ROOT / "conda" / "conda_build_config.yaml").read_text())[1]
        in (PROJECT["requires-python"])
    )


def test_versions_agree():
    released = codekin.__version__.partition(".dev")[0]
    assert f'{{% set version = "{released}" %}}' in RECIPE
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    if released == codekin.__version__:
        assert re.fullmatch(re.escape(released) + r" - \d{4}-\d{2}-\d{2}", headings[1])


def test_every_licence_is_named_and_has_its_file():
    assert PROJECT["license"] == "BSD-3-Clause AND CC-BY-4.0"
    assert f"license: {PROJECT['license']}\n" in RECIPE
    for name in PROJECT["license-files"]:
        assert (ROOT / name).is_file()
        assert f"    - {name}\n" in RECIPE
    assert "CC BY 4.0" in (ROOT / PROJECT["license-files"][1]).read_text(encoding="utf-8")
