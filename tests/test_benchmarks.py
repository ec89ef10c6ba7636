"""Benchmarks start, and import only what there is; the quick ones run to their end in a small form.

What they measure is not checked: a test must not depend on how fast or how busy a machine is.
"""

import ast
import importlib
import json
import subprocess
import sys
from importlib.util import find_spec

from tests.conftest import ROOT

FOLDER = ROOT / "benchmarks"
SHARED = {"apart", "contenders", "single_peer"}  # what several scripts use
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)

RUN = """
import contextlib, io, json, runpy, sys, traceback
folder, commands = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, folder)
failed = {}
for command in commands:
    name, *options = command
    sys.argv = [f"{folder}/{name}.py", *options]
    code, told = None, ""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            told = traceback.format_exc()
    if code not in (None, 0, 1) or told or not printed.getvalue():
        failed[" ".join(command)] = told or f"exit code {code}"
    elif options == ["--help"] and (code != 0 or "usage:" not in printed.getvalue()):
        failed[name] = "no help"
print(json.dumps(failed))
"""


def failures(commands, tmp_path):
    """Which of these scripts with options fail, and how; all of them run in one process."""
    words = [sys.executable, "-c", RUN, str(FOLDER), json.dumps(commands)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_every_benchmark_answers_help(tmp_path):
    assert failures([[name, "--help"] for name in SCRIPTS], tmp_path) == {}


def test_what_benchmarks_import_of_this_repository_exists():
    missing = []
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in {
                "codekin",
                "codekin_studies",
                "tests",
            }:
                missing += [
                    f"{path.name}: {node.module}.{alias.name}"
                    for alias in node.names
                    if not exists(node.module, alias.name)
                ]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "patch":
                name = ast.literal_eval(node.args[0])
                missing += [] if exists(*name.rsplit(".", 1)) else [f"{path.name}: {name}"]
    assert not missing


def exists(module, name):
    """Whether a module has this name, or a module in it."""
    found = importlib.import_module(module)
    return hasattr(found, name) or (hasattr(found, "__path__") and find_spec(f"{module}.{name}") is not None)
