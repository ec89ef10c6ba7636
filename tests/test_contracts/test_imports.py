"""Importing is cheap: heavy packages are imported where they are used."""

import subprocess
import sys

import pytest


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "heavy", ["numba", "matplotlib", "pandas", "networkx", "safetensors", "skops", "rich", "typer"]
)
def test_importing_the_package_does_not_import(heavy, modules_of_the_package):
    assert heavy not in modules_of_the_package


@pytest.mark.parametrize("heavy", ["numba", "matplotlib", "pandas"])
def test_asking_the_command_line_for_its_version_does_not_import(heavy, modules_of_the_command_line):
    assert heavy not in modules_of_the_command_line


@pytest.fixture(scope="module")
def modules_of_the_package():
    return modules_after("import codekin")


@pytest.fixture(scope="module")
def modules_of_the_command_line():
    return modules_after(
        "import contextlib\nfrom codekin.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main(['--version'])"
    )
