"""The faults: how each is provoked, the required outcome, and what the user sees. Nothing here is simulated."""

from __future__ import annotations

import gzip
import os
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.place import Place, check, contents
from tests.faults.processes import Ended, Running, ran

Provoke = Callable[[Place], str]
FILE_LIMIT = {resource.RLIMIT_FSIZE: 512}
PAGE = 4096
FUTURE = 4_102_444_800  # the year 2100


@dataclass(frozen=True)
class Fault:
    """A fault that hits a command; ``provoke`` returns the outcome, or raises.

    Slow ones take long, or are provoked by other tests as well; ``make faults`` provokes them, too.
    """

    name: str
    command: str
    provoke: Provoke
    is_slow: bool = False


FAULTS: list[Fault] = []


def fault(name: str, command: str, *, is_slow: bool = False) -> Callable[[Provoke], Provoke]:
    def enter(provoke: Provoke) -> Provoke:
        FAULTS.append(Fault(name, command, provoke, is_slow))
        return provoke

    return enter


# ----- signals ------------------------------------------------------------------------------------------------------


@fault("SIGKILL", "train")
def killed_training(place: Place) -> str:
    for options, epoch in (((), 1), (("--resume",), 15)):
        ended = place.disturbed_training(signal.SIGKILL, *options, after_epoch=epoch)
        check(ended.code == -signal.SIGKILL, "it was not killed")
        check(not place.model.exists(), "there is a model already")
    place.check_model(ran(*place.training("--resume")))
    return "killed twice; --resume ends with the same bytes, nothing else is left"


def interrupted_training(place: Place, number: int, code: int) -> str:
    shown = place.sentence(
        place.disturbed_training(number), code, "holds the last epoch. Continue with: codekin train", "--resume"
    )
    check(not place.model.exists(), "there is a model already")
    place.check_model(ran(*place.training("--resume")))
    return f"{code}: {shown.split('. Go on')[0]}; --resume ends with the same bytes"


@fault("SIGINT", "train", is_slow=True)
def interrupted_by_user(place: Place) -> str:
    return interrupted_training(place, signal.SIGINT, 130)


@fault("SIGTERM", "train", is_slow=True)
def asked_to_end(place: Place) -> str:
    return interrupted_training(place, signal.SIGTERM, 143)


def disturbed_study(place: Place, number: int) -> Ended:
    """A study that got a signal after its first task."""
    journal = place.folder / "studies" / "few" / "journal.jsonl"
    running = Running(place.study())
    check(running.wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 1), "no task was finished")
    running.send(number)
    ended = running.ended()
    check(len(journal.read_bytes().splitlines()) < 5, "the study was over already")
    return ended


@fault("SIGKILL", "study run", is_slow=True)
def killed_study(place: Place) -> str:
    check(disturbed_study(place, signal.SIGKILL).code == -signal.SIGKILL, "it was not killed")
    place.check_study(ran(*place.study()))
    return "the same command does what is left; same results"


@fault("SIGINT", "study run", is_slow=True)
def interrupted_study(place: Place) -> str:
    shown = place.sentence(disturbed_study(place, signal.SIGINT), 130, "The same command continues")
    place.check_study(ran(*place.study()))
    return f"130: {shown}"


def disturbed_prediction(place: Place, number: int) -> Ended:
    """A prediction that got a signal when it had written something."""
    pipe, target = place.folder / "pipe.svm", place.folder / "labels.txt"
    os.mkfifo(pipe)
    target.write_text("of an earlier run\n")
    running = Running(("predict", place.undisturbed, pipe, "-o", target, "--chunk-rows", 1, "--quiet"))
    with pipe.open("wb") as stream:
        stream.write((place.shared / "test.svm").read_bytes()[:20_000])
        stream.flush()

        def has_begun() -> bool:
            return any(path.stat().st_size for path in place.folder.glob(".labels.txt.*.partial"))

        check(running.wait_for(has_begun), "nothing was written")
        running.send(number)
        ended = running.ended()
    pipe.unlink()
    check(target.read_text() == "of an earlier run\n", "the earlier file was changed")
    return ended


def predicted_again(place: Place) -> None:
    ended = ran("predict", place.undisturbed, place.shared / "test.svm", "-o", place.folder / "labels.txt", "--quiet")
    check(ended.code == 0, ended.err)
    check(list(contents(place.folder)) == ["labels.txt"], f"left behind: {list(contents(place.folder))}")
    check(contents(place.folder)["labels.txt"] == (place.shared / "predicted.txt").read_bytes(), "other labels")


@fault("SIGKILL", "predict -o")
def killed_prediction(place: Place) -> str:
    check(disturbed_prediction(place, signal.SIGKILL).code == -signal.SIGKILL, "it was not killed")
    predicted_again(place)
    return "the earlier file stays whole; the next run clears the half-written one away"


@fault("SIGINT", "predict -o")
def interrupted_prediction(place: Place) -> str:
    shown = place.sentence(disturbed_prediction(place, signal.SIGINT), 130)
    check(list(contents(place.folder)) == ["labels.txt"], "something was left behind")
    predicted_again(place)
    return f"130: {shown} The earlier file stays, nothing else is left"


# ----- disks --------------------------------------------------------------------------------------------------------


@fault("full disk", "train")
def full_disk_in_training(place: Place) -> str:
    disk = place.mounts.small(place.folder / "disk", 5 * PAGE)
    here = Place(disk, place.shared, place.mounts)
    shown = here.sentence(ran(*here.training()), 1, "no space is left on the disk")
    check(here.epoch() >= 1, "the checkpoint is gone")
    place.mounts.enlarged(disk, 100 * PAGE)
    here.check_model(ran(*here.training("--resume")))
    return f"1: {shown} With space, --resume ends with the same bytes"


@fault("file size limit", "train", is_slow=True)
def limited_checkpoint(place: Place) -> str:
    shown = place.sentence(ran(*place.training(), limits=FILE_LIMIT), 1, "ulimit -f")
    check(not list(place.folder.iterdir()), "something was left behind")
    place.check_model(ran(*place.training()))
    return f"1: {shown}"


@fault("file size limit", "train, saving")
def limited_model(place: Place) -> str:
    check(ran(*place.training("--no-checkpoint")).code == 0, "the first training failed")
    ended = ran(*place.training("--no-checkpoint", "--random-state", 7), limits=FILE_LIMIT)
    shown = place.sentence(ended, 1, "ulimit -f")
    place.check_model(Ended(0, "", ""))
    return f"1: {shown} The model before it stays"


@fault("file size limit", "predict -o")
def limited_prediction(place: Place) -> str:
    target = place.folder / "labels.txt"
    target.write_text("of an earlier run\n")
    command = ("predict", place.undisturbed, place.shared / "test.svm", "--json", "-o", target, "--quiet")
    shown = place.sentence(ran(*command, limits=FILE_LIMIT), 1, "ulimit -f")
    check(contents(place.folder) == {"labels.txt": b"of an earlier run\n"}, "the earlier file was changed")
    return f"1: {shown} The earlier file stays"


@fault("full device", "predict to stdout")
def full_output(place: Place) -> str:
    def predict() -> int:
        from codekin.cli.main import main

        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        return main(["predict", str(place.undisturbed), str(place.shared / "test.svm"), "--quiet"])

    return f"1: {place.sentence(Running(predict).ended(), 1, 'o space is left')}"


@fault("file size limit", "study run", is_slow=True)
def limited_study(place: Place) -> str:
    shown = place.sentence(ran(*place.study(), limits={resource.RLIMIT_FSIZE: 1500}), 1, "ulimit -f")
    place.check_study(ran(*place.study()))
    return f"1: {shown} The same command continues"


@fault("file size limit", "assign -o, data convert")
def limited_files(place: Place) -> str:
    for command in (
        ("assign", "--taxonomy", place.shared / "taxonomy.txt", "-o", place.folder / "new.json", "--quiet"),
        ("data", "convert", place.data, place.folder / "new.svm.gz"),
        ("data", "convert", place.data, place.folder / "new.npz"),
    ):
        shown = place.sentence(ran(*command, limits={resource.RLIMIT_FSIZE: 300}), 1, "ulimit -f")
        check(not list(place.folder.iterdir()), f"{command[0]} left {list(place.folder.iterdir())}")
    return f"1: {shown}"


@fault("read-only folder", "train, predict, assign, convert, study run")
def read_only(place: Place) -> str:
    folder = place.folder / "kept"
    folder.mkdir()
    place.mounts.read_only(folder)
    for command in (
        place.training(model=folder / "model"),
        place.training("--no-checkpoint", model=folder / "model"),
        ("predict", place.undisturbed, place.shared / "test.svm", "-o", folder / "labels.txt", "--quiet"),
        ("assign", "--taxonomy", place.shared / "taxonomy.txt", "-o", folder / "new.json", "--quiet"),
        ("data", "convert", place.data, folder / "new.tsv"),
        ("study", "run", "synthetic", "-o", folder / "studies", "--n-jobs", 1, "--no-report", "--quiet"),
    ):
        shown = place.sentence(ran(*command), 2, "the file system is read-only")
    return f"2: {shown}"


@fault("read-only model", "predict")
def read_only_model(place: Place) -> str:
    place.mounts.read_only(place.undisturbed)
    predicted_again(place)
    return "0: a model is only read"


# ----- damage -------------------------------------------------------------------------------------------------------


def damages(content: bytes) -> Iterator[bytes]:
    """The content cut off at several places, and with one bit flipped at several others; nothing; zeros."""
    n = len(content)
    yield from (content[:length] for length in (0, 1, n // 2, n - 1))
    yield bytes(n)
    for where in (0, 12, n // 2, n - 2):
        yield content[:where] + bytes([content[where] ^ 4]) + content[where + 1 :]


def damaged(place: Place, files: list[Path], command: tuple[object, ...], *words: str) -> tuple[int, str]:
    """How many damages were answered by a sentence each, and the last sentence. The files are as before then."""
    n_damages, shown = 0, ""
    for file in files:
        content = file.read_bytes()
        for damage in damages(content):
            if damage != content:
                file.write_bytes(damage)
                shown = place.sentence(ran(*command), 2, file.name, *words)
                n_damages += 1
        file.write_bytes(content)
    return n_damages, shown


@fault("damaged model", "predict")
def damaged_model(place: Place) -> str:
    check(ran(*place.training("--no-checkpoint")).code == 0, "the training failed")
    command = ("predict", place.model, place.shared / "test.svm", "-o", place.folder / "labels.txt", "--quiet")
    n_damages, shown = damaged(place, sorted(place.model.iterdir()), command)
    check(not (place.folder / "labels.txt").exists(), "labels were written")
    return f"2, {n_damages} of {n_damages} noticed: {shown}"


@fault("damaged checkpoint", "train --resume")
def damaged_checkpoint(place: Place) -> str:
    place.disturbed_training(signal.SIGKILL)
    described = (place.checkpoint / "checkpoint.json").read_text()
    for path in place.checkpoint.iterdir():
        if path.name != "checkpoint.json" and f'"{path.name}"' not in described:
            path.unlink()  # of the next checkpoint, if the kill came while it was written
    n_damages, shown = damaged(place, sorted(place.checkpoint.iterdir()), place.training("--resume"))
    check(place.epoch() >= 1, "the checkpoint is gone")
    place.check_model(ran(*place.training("--resume")))
    return f"2, {n_damages} of {n_damages} noticed: {shown}"


@fault("damaged journal", "study run", is_slow=True)
def damaged_journal(place: Place) -> str:
    check(ran(*place.study()).code == 0, "the study failed")
    journal = place.folder / "studies" / "few" / "journal.jsonl"
    content = journal.read_bytes()
    lines = content.splitlines(keepends=True)
    n_damages = 0
    for number in (1, 2, 4):
        for where in (1, len(lines[number - 1]) // 2, len(lines[number - 1]) - 2):
            line = bytearray(lines[number - 1])
            line[where] ^= 4
            journal.write_bytes(b"".join([*lines[: number - 1], bytes(line), *lines[number:]]))
            shown = place.sentence(ran(*place.study()), 2, f"journal.jsonl, line {number}")
            n_damages += 1
    journal.write_bytes(content[:-30])
    place.check_study(ran(*place.study()))
    return f"2, {n_damages} of {n_damages} noticed: {shown} A torn last line is done again"


@fault("damaged array", "study run, study report", is_slow=True)
def damaged_array(place: Place) -> str:
    check(ran(*place.study("six")).code == 0, "the study failed")
    for array in sorted((place.folder / "studies" / "six" / "arrays").iterdir())[:2]:
        content = array.read_bytes()
        for damage in (content[:-1], content[:200] + b"\1" + content[201:], b""):
            array.write_bytes(damage)
            report = ran("study", "report", place.shared / "six.toml", "-o", place.folder / "studies")
            shown = place.sentence(report, 2, array.name, "was changed after it was written", "computes it again")
            place.check_study(ran(*place.study("six")), "six")
    return f"study report: 2: {shown}"


@fault("damaged data (gzip)", "train")
def damaged_data(place: Place) -> str:
    zipped = place.folder / "train.svm.gz"
    zipped.write_bytes(gzip.compress(place.data.read_bytes(), mtime=0))
    n_damages, shown = damaged(place, [zipped], place.training(data=zipped))
    zipped.unlink()
    check(not list(place.folder.iterdir()), "something was left behind")
    return f"2, {n_damages} of {n_damages} noticed: {shown}"


@fault("damaged cache", "train --cache", is_slow=True)
def damaged_cache(place: Place) -> str:
    cache = place.folder / "cache"
    command = place.training("--cache", cache, "--no-checkpoint")
    check(ran(*command).code == 0, "the training failed")
    undisturbed, n_damages = contents(place.model), 0
    for file in sorted(cache.iterdir()):
        content = file.read_bytes()
        for damage in (b"", content[:-1], content[:-2] + bytes([content[-2] ^ 4]) + content[-1:]):
            file.write_bytes(damage)
            ended = ran(*(argument for argument in command if argument != "--quiet"))
            check(ended.code == 0 and "converting it again" in ended.err, f"{file.name}: {ended.err}")
            check(contents(place.model) == undisturbed, "the model differs")
            n_damages += 1
    return f"0, {n_damages} of {n_damages} noticed: the data is converted again; the same model"


@fault("file size limit", "train --cache")
def limited_cache(place: Place) -> str:
    command = place.training("--cache", place.folder / "cache")
    shown = place.sentence(ran(*command, limits=FILE_LIMIT), 1, "ulimit -f")
    check(not list(place.folder.iterdir()), "something was left behind")
    return f"1: {shown}"


# ----- others -------------------------------------------------------------------------------------------------------


@fault("two processes", "train, one checkpoint")
def two_trainings(place: Place) -> str:
    running = place.started_training()
    running.send(signal.SIGSTOP)  # so that it is not over too early
    shown = place.sentence(ran(*place.training()), 2, "Another training is using")
    running.send(signal.SIGCONT)
    place.check_model(running.ended())
    return f"2: {shown} The first is not disturbed"


@fault("two processes", "train --no-checkpoint", is_slow=True)
def two_savings(place: Place) -> str:
    for _ in range(3):
        both = [Running(place.training("--no-checkpoint")) for _ in range(2)]
        for running in both:
            check(running.ended().code == 0, "a training failed")
        place.check_model(Ended(0, "", ""))
    return "0 and 0: the model of the last one, whole"


@fault("two processes", "saving and loading")
def saving_and_loading(place: Place) -> str:
    from codekin.storage import load_model, save_model

    model = load_model(place.undisturbed)
    save_model(model, place.model)

    def save() -> int:
        for _ in range(60):
            save_model(model, place.model)
        return 0

    def load() -> int:
        for _ in range(60):
            load_model(place.model)
        return 0

    for running in [Running(save), Running(load), Running(save)]:
        ended = running.ended()
        check(ended.code == 0, ended.err)
    check(list(place.folder.iterdir()) == [place.model], "something was left behind")
    return "a reader finds a whole model at any moment"


@fault("two processes", "study run", is_slow=True)
def two_studies(place: Place) -> str:
    running = Running(place.study())
    journal = place.folder / "studies" / "few" / "journal.jsonl"
    check(running.wait_for(journal.exists), "no task was finished")
    running.send(signal.SIGSTOP)  # so that it is not over too early
    shown = place.sentence(ran(*place.study()), 2, "Another run is using")
    running.send(signal.SIGCONT)
    place.check_study(running.ended())
    return f"2: {shown} The first is not disturbed"


@fault("two processes", "predict -o")
def two_predictions(place: Place) -> str:
    command = ("predict", place.undisturbed, place.shared / "test.svm", "-o", place.folder / "labels.txt", "--quiet")
    for running in [Running(command) for _ in range(3)]:
        check(running.ended().code == 0, "a prediction failed")
    predicted_again(place)
    return "0: the file of the last one, whole"


@fault("clock going back", "train --resume, study run, predict", is_slow=True)
def times_in_the_future(place: Place) -> str:
    place.disturbed_training(signal.SIGKILL)
    disturbed_study(place, signal.SIGKILL)
    for path in (place.folder, *place.folder.rglob("*")):
        os.utime(path, (FUTURE, FUTURE))
    place.check_study(ran(*place.study()))
    check(ran(*place.training("--resume")).code == 0, "resuming failed")
    check(contents(place.model) == contents(place.undisturbed), "the model differs")
    os.utime(place.model / "model.json", (FUTURE, FUTURE))
    check(ran("predict", place.model, place.shared / "test.svm", "--quiet").code == 0, "predicting failed")
    return "files from the year 2100 are as good as others: no decision goes by the time of a file"


@fault("missing file", "train, predict, evaluate, assign, convert")
def missing_file(place: Place) -> str:
    missing = place.folder / "no.svm"
    for command in (
        place.training(data=missing),
        ("predict", place.undisturbed, missing, "-o", place.folder / "labels.txt"),
        ("predict", place.folder / "no-model", place.data),
        ("evaluate", place.undisturbed, missing),
        ("assign", "--taxonomy", missing),
        ("assign", "--distances", missing),
        ("data", "convert", missing, place.folder / "new.tsv"),
        ("study", "run", place.folder / "no.toml"),
    ):
        options = () if command[0] in ("data", "study") else ("--quiet",)
        ended = ran(*command, *options, folder=place.folder)
        shown = place.sentence(ended, 2, str(place.folder))
    check(not list(place.folder.iterdir()), "something was left behind")
    return f"2: {shown.split(' The paper')[0]}"


@fault("missing data set", "study run --only, data export")
def missing_data_set(place: Place) -> str:
    command = ("study", "run", "exhaustive", "--only", "mnist", "--data-home", place.folder, "-o", place.folder / "s")
    ended = ran(*command, "--no-report", "--quiet", "--n-jobs", 1)
    check(ended.code == 0 and "skipped mnist, which is not in the data home" in ended.err, ended.err)
    shown = place.sentence(ran("data", "export", "mnist", place.folder / "x", "--data-home", place.folder), 2, "mnist")
    return f"study: skipped, and said so; export: 2: {shown}"


@fault("out of memory", "train")
def too_little_memory(place: Place) -> str:
    bomb = place.folder / "bomb.svm"
    bomb.write_bytes(b"0 1:1\n1 2147483646:1\n2 5:1\n")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = {resource.RLIMIT_AS: used + (1 << 30)}
    for options in ((), ("--assignment", "auto")):
        ended = ran(*place.training(*options, data=bomb), limits=limits)
        shown = place.sentence(ended, 1, "GiB", "are available")
        check(ended.extra_bytes < 200 << 20, f"{ended.extra_bytes:,} bytes were taken")
    bomb.unlink()
    check(not list(place.folder.iterdir()), "something was left behind")
    return f"1: {shown}"


@fault("killed worker", "study run --n-jobs 2", is_slow=True)
def killed_worker(place: Place) -> str:
    running = Running(place.study(n_jobs=2))
    workers: list[int] = []

    def has_workers() -> bool:
        listed = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        workers[:] = [int(pid) for pid in listed if b"--process-name" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return len(workers) == 2

    check(running.wait_for(has_workers), "there were no workers")
    os.kill(workers[0], signal.SIGKILL)
    shown = place.sentence(running.ended(), 1, "A worker process ended before its task did")
    place.check_study(ran(*place.study()))
    return f"1: {shown}"
