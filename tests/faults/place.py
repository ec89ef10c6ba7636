"""Where a fault is provoked: a separate folder, small data, and the results of undisturbed commands."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.mounts import Mounts
from tests.faults.processes import Ended, Running

TRAINING = ("--n-epochs", 40, "--assignment", "random", "--estimator", "arow", "--quiet")

STUDY = """
kind = "bound"
title = "A few tasks"
seed = 0
n_assignments = 2
losses = ["hinge"]

[[data]]
name = "yeast"
n_test = 1300
learner = { name = "linear_svm", C = 1.0 }
""" + "".join(
    f"""
[[codebooks]]
name = "dense-{n_bits}"
codebook = "dense_random"
options = {{ n_bits = {n_bits} }}
seed = 1
"""
    for n_bits in (5, 6, 7, 8)
)

# One task, which leaves arrays.
STUDY_WITH_ARRAYS = """
kind = "synthetic"
title = "Six classes"
seed = 0
n_per_class = 20
angles = [0.0, 20.0, 110.0]
offset = 0.03
gap = 0.03
C = 10.0
one_vs_rest_C = [1.0]
"""


class WrongOutcomeError(AssertionError):
    """What was to happen has not."""


def check(is_right: bool, what: str) -> None:
    if not is_right:
        raise WrongOutcomeError(what)


@dataclass(frozen=True)
class Place:
    """A new folder, beside the one that has the data and what undisturbed commands have made."""

    folder: Path
    shared: Path
    mounts: Mounts

    @property
    def data(self) -> Path:
        return self.shared / "train.svm"

    @property
    def model(self) -> Path:
        """Where this fault's training saves; :attr:`undisturbed` is what it should be."""
        return self.folder / "model"

    @property
    def undisturbed(self) -> Path:
        return self.shared / "model"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "model.checkpoint"

    def training(self, *options: Any, data: Path | None = None, model: Path | None = None) -> tuple[Any, ...]:
        return ("train", data or self.data, model or self.model, *TRAINING, *options)

    def study(self, name: str = "few", *, n_jobs: int = 1) -> tuple[Any, ...]:
        output = self.folder / "studies"
        return (
            "study",
            "run",
            self.shared / f"{name}.toml",
            "-o",
            output,
            "--n-jobs",
            n_jobs,
            "--no-report",
            "--quiet",
        )

    def epoch(self) -> int:
        """How far the checkpoint is; 0 if there is none."""
        try:
            return int(json.loads((self.checkpoint / "checkpoint.json").read_text())["progress"]["epoch"])
        except FileNotFoundError:
            return 0

    def started_training(self, *options: Any, after_epoch: int = 1) -> Running:
        """A training that has left a checkpoint and is not over."""
        running = Running(self.training(*options))
        check(running.wait_for(lambda: self.epoch() >= after_epoch), "the training left no checkpoint")
        return running

    def disturbed_training(self, number: int, *options: Any, after_epoch: int = 1) -> Ended:
        """A training that got a signal; begun again if it was over before the signal came."""
        for _ in range(10):
            running = self.started_training(*options, after_epoch=after_epoch)
            running.send(number)
            ended = running.ended()
            if ended.code != 0:
                break
            shutil.rmtree(self.model)
        return ended

    def check_model(self, ended: Ended) -> None:
        """The command went well, the model is the undisturbed one to the last byte, and nothing else is left."""
        check(ended.code == 0, f"exit code {ended.code}: {ended.err}")
        check(contents(self.model) == contents(self.undisturbed), "the model differs from the undisturbed one")
        left = sorted(path.name for path in self.folder.iterdir() if path != self.model)
        check(not left, f"left behind: {left}")

    def check_study(self, ended: Ended, name: str = "few") -> None:
        check(ended.code == 0, f"exit code {ended.code}: {ended.err}")
        check(results(self.folder, name) == results(self.shared, name), "the results differ from the undisturbed ones")

    def sentence(self, ended: Ended, code: int, *words: str) -> str:
        """The one sentence that was shown, which has these words in it; names of files without their folders."""
        check(ended.code == code, f"exit code {ended.code}, not {code}: {ended.err or ended.out}")
        check(re.fullmatch(r"codekin[^\n]*[.?]\n|codekin: interrupted;[^\n]*\n", ended.err) is not None, ended.err)
        check("defect" not in ended.err, ended.err)
        for word in words:
            check(word in ended.err, f"{word!r} is not in: {ended.err}")
        shown = ended.err.removeprefix("codekin: ").strip()
        return shown.replace(f"{self.folder}/", "").replace(f"{self.shared}/", "")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def results(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What a study has found: its last record of each task, without times, and its arrays."""
    workspace = folder / "studies" / name
    lines = (workspace / "journal.jsonl").read_text().splitlines()[1:]
    timed = ("seconds", "cpu_seconds", "sha256")
    records = [{k: v for k, v in json.loads(line).items() if k not in timed} for line in lines]
    return {record["key"]: record for record in records}, contents(workspace / "arrays")


def made_data_and_model(shared: Path) -> None:
    """Good data in several formats, and a good model."""
    from codekin.cli.main import main
    from codekin.data import make_sparse_topics
    from codekin.data.writing import export_dataset

    export_dataset(make_sparse_topics(8, 80, n_features=60, rng=0), shared)
    (shared / "texts.tsv").write_text("cat\tit purrs\ndog\tit barks\n")
    (shared / "small.vw").write_text("1 | a:2 b\n2 | b c\n")
    training = Place(shared, shared, Mounts.__new__(Mounts)).training()
    check(main([str(argument) for argument in training]) == 0, "codekin train does not work at all")


def prepared(shared: Path, *, has_studies: bool = True) -> None:
    """Make the data and the undisturbed results, in this process, so that later ones find everything loaded."""
    from codekin.cli.main import main

    made_data_and_model(shared)
    (shared / "few.toml").write_text(STUDY)
    (shared / "six.toml").write_text(STUDY_WITH_ARRAYS)
    here = Place(shared, shared, Mounts.__new__(Mounts))
    for arguments in (
        ("predict", here.undisturbed, shared / "test.svm", "-o", shared / "predicted.txt", "--quiet"),
        ("assign", "--taxonomy", shared / "taxonomy.txt", "-o", shared / "assignment.json", "--quiet"),
        ("data", "convert", shared / "small.vw", shared / "small.svm"),
        *([here.study(), here.study("six")] if has_studies else []),
    ):
        check(main([str(argument) for argument in arguments]) == 0, f"codekin {arguments[0]} does not work at all")
