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
OURS = {"codekin", "codekin_studies", "tests"}
SHARED = {"apart"}  # what several scripts use
QUICK = [
    ["cluster_plan"],
    ["codebook_search", "--draws", "50"],
    ["class_scores", "--samples", "20", "--candidates", "5"],
    ["two_versions", "--measure", "digits"],
    ["readers", "--samples", "500"],
]
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
    done = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_quick_benchmarks_run_to_their_end(tmp_path):
    assert failures(QUICK, tmp_path) == {}


def test_every_benchmark_answers_help(tmp_path):
    assert failures([[name, "--help"] for name in SCRIPTS], tmp_path) == {}


def test_what_benchmarks_use_of_this_repository_exists():
    missing = [f"{path.name}: {name}" for path in FOLDER.glob("*.py") for name in used_by(path) if not exists(name)]
    assert not missing


def used_by(path):
    """The names in modules of this repository that a script imports, patches, or reads from a module it imported."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in OURS:
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    modules = {name: whole for name, whole in imported.items() if exists(whole) and is_module(whole)}
    yield from imported.values()
    for node in nodes:
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in modules:
            yield f"{modules[node.value.id]}.{node.attr}"
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "patch":
            yield ast.literal_eval(node.args[0])


def exists(name):
    home, _, own = name.rpartition(".")
    return hasattr(importlib.import_module(home), own) or is_module(name)


def is_module(name):
    home = importlib.import_module(name.rpartition(".")[0])
    return hasattr(home, "__path__") and find_spec(name) is not None
