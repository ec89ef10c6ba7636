"""Compiled code if neither the installation nor the home folder is writable, as in containers.

The installation is a copy in which a file replaces the folder for compiled code, so that not even root can write
there, or a copy that is mounted read-only.
"""

import os
import subprocess
import sys

import pytest
from tests.conftest import ROOT

DRAW = """
import numpy as np
from codekin.kernels.splitmix import next_word
print(next_word(np.zeros(1, np.uint64)))
hits = sum(next_word.dispatcher.stats.cache_hits.values())
print("from the cache" if hits else "compiled")
"""
IN_WORKERS = """
import joblib, numpy as np
from codekin.kernels.splitmix import next_word

def draw(seed):
    from codekin.kernels.splitmix import next_word
    return int(next_word(np.array([seed], np.uint64)))

print(joblib.Parallel(n_jobs=2)(joblib.delayed(draw)(seed) for seed in range(4)))
"""
WITHOUT_TEMPORARY_FILES = "import tempfile; tempfile.tempdir = '/dev/null/none'\n"
READ_ONLY = """
import sys
from tests.faults.mounts import Mounts
mounts = Mounts()
if mounts.reason:
    raise SystemExit(mounts.reason)
mounts.read_only(sys.argv[1])
"""
FIRST_WORD = "16294208416658607535"  # of SplitMix64 from 0, as published with the generator


@pytest.fixture
def installation(tmp_path):
    """A folder with a copy of the package in which no compiled code can be kept."""
    package = tmp_path / "installation" / "codekin"
    (package / "kernels").mkdir(parents=True)
    for path in (ROOT / "src" / "codekin").iterdir():
        if path.name not in ("kernels", "__pycache__"):
            (package / path.name).symlink_to(path)
    for path in (ROOT / "src" / "codekin" / "kernels").glob("*.py"):
        (package / "kernels" / path.name).write_bytes(path.read_bytes())
    (package / "kernels" / "__pycache__").touch()
    return package.parent


@pytest.fixture
def run(installation, tmp_path):
    """A function: runs Python with this installation, a home that cannot be there, and a folder of temporary files."""
    (tmp_path / "temporary").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment |= {"HOME": "/dev/null/none", "TMPDIR": str(tmp_path / "temporary")}
    environment |= {"PYTHONPATH": f"{installation}{os.pathsep}{ROOT}"}

    def run(*arguments, **variables):
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=tmp_path,
        )

    return run


def test_compiled_code_is_kept_among_temporary_files_where_nothing_else_can_be_written(run, tmp_path):
    for how in ("compiled", "from the cache"):
        shown = run("-c", DRAW)
        assert shown.stdout.split("\n")[:2] == [FIRST_WORD, how], shown.stderr
        assert shown.stderr.count("since neither the installation nor the home folder can be written") == 1
    (folder,) = (tmp_path / "temporary").iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    assert str(folder) in shown.stderr
    assert "NUMBA_CACHE_DIR" in shown.stderr


def test_worker_processes_use_the_same_folder_and_do_not_warn_again(run):
    shown = run("-c", IN_WORKERS)
    assert shown.stdout.startswith(f"[{FIRST_WORD}, "), shown.stderr
    assert shown.stderr.count("compiled code is kept in") == 1


def test_code_is_compiled_in_every_run_where_it_can_be_kept_nowhere(run):
    shown = run("-c", WITHOUT_TEMPORARY_FILES + DRAW)
    assert shown.stdout.split("\n")[:2] == [FIRST_WORD, "compiled"], shown.stderr
    assert shown.stderr.count("compiled code cannot be kept anywhere") == 1


def test_compiled_code_is_not_taken_from_a_folder_that_others_can_write(run, tmp_path):
    folder = tmp_path / "temporary" / f"codekin-compiled-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    shown = run("-c", DRAW)
    assert shown.stdout.split("\n")[:2] == [FIRST_WORD, "compiled"], shown.stderr
    assert "cannot be kept anywhere" in shown.stderr
    assert not list(folder.iterdir())


def test_a_folder_that_the_user_names_is_used_without_a_word(run, tmp_path):
    shown = run("-c", DRAW, NUMBA_CACHE_DIR=str(tmp_path / "named"))
    assert (shown.stdout.split("\n")[0], shown.stderr) == (FIRST_WORD, "")
    assert list((tmp_path / "named").rglob("*.nbi"))


def test_what_a_read_only_installation_has_compiled_is_not_compiled_again(run, installation):
    kernels = installation / "codekin" / "kernels"
    (kernels / "__pycache__").unlink()
    warm = run("-c", DRAW)
    assert warm.stderr == ""
    shown = run("-c", READ_ONLY + DRAW, kernels)
    if "not permitted" in shown.stderr:
        pytest.skip(shown.stderr)
    assert shown.stdout.split("\n")[:2] == [FIRST_WORD, "from the cache"], shown.stderr
    assert "compiled code is kept in" in shown.stderr


def test_the_command_line_works_and_says_it_in_one_line(run, tmp_path):
    (tmp_path / "small.svm").write_text("cat 1:1.0\ndog 2:1.0\n")
    shown = run("-m", "codekin", "data", "convert", "small.svm", "-", "--to", "svmlight")
    assert (shown.returncode, shown.stdout) == (0, "cat 1:1.0\ndog 2:1.0\n")
    # There may be lines of progress beside it.
    (said,) = [line for line in shown.stderr.splitlines() if "codekin: " in line]
    assert said.startswith("codekin: compiled code is kept in ")
