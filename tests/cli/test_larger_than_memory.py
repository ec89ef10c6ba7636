"""Files larger than memory: training in blocks and prediction in chunks need the memory of a few of these."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from codekin.data import SparseData, make_sparse_topics, write_data
from codekin.storage import load_model
from tests.cli.conftest import ENVIRONMENT

MEASURE = """
import re, sys
from pathlib import Path
from codekin.cli.main import main

def peak_after(command):
    assert main(command.split()) == 0
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

for first, second in zip(sys.argv[1::2], sys.argv[2::2]):
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    before = peak_after(first)
    print("more", peak_after(second) - before)
"""


def growth(*pairs):
    """By how much the peak of a process's memory is higher in the second command of each pair than in the first."""
    command = [sys.executable, "-c", MEASURE, *(command for pair in pairs for command in pair)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(peak) for peak in re.findall(r"more (-?[0-9]+)", done.stdout)]


@pytest.fixture(scope="module")
def long_rows(tmp_path_factory) -> tuple[Path, Path]:
    """Two files, plain and zipped: three blocks of text, and six times as many."""
    folder = tmp_path_factory.mktemp("long_rows")
    made = make_sparse_topics(16, 3_000, n_features=400, words_per_sample=150, rng=0)
    write_data(folder / "once.svm", SparseData(made.X, made.y, np.arange(16)))
    text = (folder / "once.svm").read_bytes()
    for name, content in (("small", 2 * text), ("large", 12 * text)):
        (folder / f"{name}.svm").write_bytes(content)
        (folder / f"{name}.svm.gz").write_bytes(gzip.compress(content, compresslevel=1))
    return folder / "small.svm", folder / "large.svm"


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs /proc of Linux")
def test_the_memory_does_not_grow_with_the_file(long_rows, tmp_path):
    small, large = long_rows
    few = "--quiet --chunk-rows 1000 --output"
    options = "--assignment random --n-epochs 2 --n-features 400 --n-threads 1 --quiet"
    on_disk, plain, zipped = growth(
        [f"train {file} {tmp_path / 'model'} {options} --max-memory 1MB" for file in (small, large)],
        *(
            [f"predict {tmp_path / 'model'} {file}{suffix} {few} {tmp_path / 'out'}" for file in long_rows]
            for suffix in ("", ".gz")
        ),
    )
    n_bytes = 2 * Path(f"{large}.cache", "values.npy").stat().st_size
    assert n_bytes > 10 * 1_000_000  # of samples, ten times what is allowed
    # In memory they are read in pieces and then joined: the peak is twice as many. What grows a little here are arrays
    # with a number for each sample, and the pieces of text that did not fill up in the smaller file.
    assert max(on_disk, plain, zipped) < 0.6 * n_bytes
    assert (tmp_path / "out").read_text().count("\n") == large.read_bytes().count(b"\n")


def test_a_file_is_converted_once_and_no_result_depends_on_threads(topics, run, tmp_path):
    data, cache = topics / "train.svm", tmp_path / "cache"
    options = ("--taxonomy", topics / "taxonomy.txt", "--max-memory", "200kB", "--cache", cache)
    first = run("train", data, tmp_path / "first", *options, "--n-threads", 1)
    assert f"{data}: converting it into {cache}" in first.err
    second = run("train", data, tmp_path / "second", *options, "--n-threads", 2)
    assert f"{data}: using {cache}" in second.err
    weights = [load_model(tmp_path / name).model_.bits.weights for name in ("first", "second")]
    np.testing.assert_array_equal(*weights)
    assert (first.code, second.code) == (0, 0)


def test_the_model_is_as_good_as_one_from_memory_and_reads_files_alike(topics, topics_model, succeed, tmp_path):
    options = ("--taxonomy", topics / "taxonomy.txt", "--max-memory", "80kB", "--cache", tmp_path / "cache")
    succeed("train", topics / "train.svm", tmp_path / "model", *options)
    accuracies = [
        json.loads(succeed("evaluate", model, topics / "test.svm", "--json"))["accuracy"]
        for model in (tmp_path / "model", topics_model)
    ]
    assert accuracies[0] > accuracies[1] - 0.05


def test_a_damaged_cache_is_made_again_with_a_sentence(topics, run, tmp_path):
    cache = tmp_path / "cache"
    command = ("train", topics / "train.svm", tmp_path / "model", "--n-epochs", 1, "--cache", cache, "--rerank", "none")
    assert run(*command).code == 0
    values = cache / "values.npy"
    values.write_bytes(values.read_bytes()[:-8])
    shown = run(*command)
    assert f"converting it again: {values} is missing or was changed after it was written" in shown.err
    assert shown.code == 0


def test_texts_beyond_the_memory_are_refused_in_one_sentence(icd, run, tmp_path):
    shown = run("train", icd / "train.tsv", tmp_path / "model", "--max-memory", "100kB", "--quiet")
    assert shown.code == 2
    assert shown.err.count("\n") == 1
    assert "texts can be converted to features only in memory. Allow more memory, or give features." in shown.err
    assert not [path for path in icd.iterdir() if "cache" in path.name]
