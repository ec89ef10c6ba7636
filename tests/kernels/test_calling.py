"""Code that comes with an installation is used without Numba, and only where it fits."""

import os
import platform
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from setuptools import Distribution
from tests.conftest import ROOT

from codekin.kernels import calling
from codekin.kernels.calling import BUILDING, PORTABLE, typed_once
from codekin.kernels.single_row import list_row
from codekin.kernels.splitmix import next_word

FIRST_WORD = "16294208416658607535"  # of SplitMix64 from 0, as published with the generator
USE = """
import sys
import numpy as np
from codekin.kernels.sparse_product import count_large
from codekin.kernels.splitmix import next_word

print(next_word(np.zeros(1, np.uint64)))
counts = np.zeros(2, np.int64)
count_large(np.eye(2, dtype=np.float32), np.float32(0.5), counts)
print(counts.tolist(), "numba.core" in sys.modules or "llvmlite" in sys.modules)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, whose kernels have no code as yet."""
    package = tmp_path / "installation" / "codekin"
    (package / "kernels" / "compiled").mkdir(parents=True)
    for path in (ROOT / "src" / "codekin").iterdir():
        if path.name not in ("kernels", "__pycache__"):
            (package / path.name).symlink_to(path)
    for path in (ROOT / "src" / "codekin" / "kernels").glob("*.py"):
        (package / "kernels" / path.name).write_bytes(path.read_bytes())
    return package


@pytest.fixture
def run(package, tmp_path):
    """A function: the words that a program prints with this installation."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(code=USE, **variables):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment | variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture
def built(package, run):
    """The same function, after the code was made."""
    machine = f"{sys.platform} {platform.machine()}"
    if machine not in PORTABLE:
        pytest.skip(f"no code is made in advance for {machine}")
    folder = package / "kernels" / "compiled"
    cpu = PORTABLE[machine][0]
    assert run(**{BUILDING: str(folder), "NUMBA_CPU_NAME": cpu})[-1].endswith("True")
    assert {path.name.split(".")[1] for path in folder.iterdir()} == {"next_word", "count_large"}
    return run


def test_code_that_comes_with_an_installation_needs_no_numba(built):
    assert built() == [FIRST_WORD, "[1, 1] False"]


def test_numba_can_be_imported_afterwards_and_compile_what_has_no_code(built):
    code = USE + "print(next_word(np.arange(4, dtype=np.uint64)[::2]), 'numba.core' in sys.modules)"
    assert built(code)[-1] == f"{FIRST_WORD} True"


def test_an_error_within_such_code_is_raised(built):
    code = USE + "try: next_word('no array')\nexcept Exception as error: print(type(error).__name__)"
    assert built(code)[-1] == "TypingError"


@pytest.mark.parametrize("damage", ["source", "file", "empty", "half"])
def test_code_that_does_not_fit_is_compiled_anew(built, package, damage):
    if damage == "source":
        source = package / "kernels" / "splitmix.py"
        source.write_text(source.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    for path in (package / "kernels" / "compiled").glob("splitmix.*"):
        if damage != "source":
            code = path.read_bytes()
            path.write_bytes({"empty": b"", "file": b"no code\n", "half": code[: len(code) // 2]}[damage])
    assert built() == [FIRST_WORD, "[1, 1] True"]


@pytest.mark.parametrize(
    "other", ["EXTENSION_SUFFIXES.insert(0, '.so')", "NEEDED = ('_helperlib',)", "NEEDED = ('_new',)"]
)
def test_code_of_another_python_or_numba_is_compiled_anew(built, other):
    assert built(f"import codekin.kernels.calling as calling\ncalling.{other}\n{USE}") == [FIRST_WORD, "[1, 1] True"]


def test_code_is_used_in_an_installation_that_cannot_be_written(built, package):
    folders = [folder for folder, _, _ in os.walk(package)]
    for folder in folders:
        Path(folder).chmod(0o555)
    try:
        assert built(NUMBA_CACHE_DIR="/dev/null/none") == [FIRST_WORD, "[1, 1] False"]
    finally:
        for folder in folders:
            Path(folder).chmod(0o755)


def test_an_installation_from_sources_works_where_nothing_can_be_compiled(tmp_path, monkeypatch):
    given, warnings = {}, []
    monkeypatch.setattr("setuptools.setup", lambda **options: given.update(options))
    monkeypatch.setattr("setuptools.command.build_py.build_py.run", lambda _: None)
    runpy.run_path(str(ROOT / "setup.py"))
    command = given["cmdclass"]["build_py"](Distribution())
    command.build_lib, command.editable_mode, command.warn = str(tmp_path / "library"), False, warnings.append
    (tmp_path / "numba.py").write_text("raise ImportError('there is no Numba for this system')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command.run()
    assert warnings == ["the kernels could not be compiled in advance; they are compiled at their first use."]
    assert not list((tmp_path / "library").rglob("*.kernel"))


def test_types_are_told_apart():
    array = np.zeros((2, 3), np.float32)
    read_only = array.copy()
    read_only.flags.writeable = False
    others = [array, array.T, array[:, ::2], read_only, array.astype(">f4"), array.astype(np.float64), array[0], 1, 1.0]
    others += [True, np.float32(1), (1, 1.0), (1.0, 1), (array,), [1], None, "1"]
    assert len({calling._type(other) for other in others}) == len(others)
    described = [calling._described(other) for other in others]
    unknown = [text for text in described if "?" in text]
    assert len(set(described) - set(unknown)) == len(others) - len(unknown)
    assert len(unknown) == 4  # the other byte order, a list, nothing and a text


def test_what_python_and_numpy_call_the_same_type_has_one_code():
    pairs = [(1, np.int64(1)), (1.0, np.float64(1)), (True, np.bool_(True))]
    assert all(calling._described(of_python) == calling._described(of_numpy) for of_python, of_numpy in pairs)


def test_a_kernel_calls_others_of_other_modules_and_depends_on_their_sources():
    files = {path.rpartition("/")[2] for path in list_row.sources(set())}
    assert files == {"single_row.py", "label_tree.py"}


def test_types_are_looked_up_once_if_the_caller_says_so():
    call = typed_once(next_word)
    assert [int(call(np.zeros(1, np.uint64))) for _ in range(2)] == [int(FIRST_WORD)] * 2
    assert typed_once(len)([1, 2]) == 2
