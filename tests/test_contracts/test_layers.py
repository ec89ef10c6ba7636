"""The layers of pyproject.toml hold: no step of the method imports one above it, nor a sibling."""

from importlinter import cli as import_linter

from tests.conftest import ROOT


def test_no_layer_imports_one_above_it(capsys):
    exit_code = import_linter.lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert exit_code == 0, capsys.readouterr().out
