"""Code that comes with an installation is used without Numba, and only where it fits."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
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
