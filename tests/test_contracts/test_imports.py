"""Importing is cheap: heavy packages are imported where they are used."""

import subprocess
import sys


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"numba", "matplotlib", "pandas", "networkx", "safetensors", "skops", "rich", "typer"}
    assert not heavy & modules_after("import codekin")


def test_asking_the_command_line_for_its_version_imports_nothing_heavy():
    modules = modules_after(
        "import contextlib\nfrom codekin.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main(['--version'])"
    )
    assert not {"numba", "matplotlib", "pandas"} & modules
