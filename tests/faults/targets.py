"""Faults of the place to write to: links, volumes, folders without write permission, full disks."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from tests.faults.matrix import fault
from tests.faults.place import Place, check, contents
from tests.faults.processes import Ended, Running, ran

PLAIN = ("--rerank", "none", "--n-codes", 1)


@fault("symbolic link", "train, grow")
def linked_model(place: Place) -> str:
    real = place.folder / "models" / "first"
    place.model.symlink_to(real)  # which is not there yet, nor is the folder that it is in
    for _ in range(2):
        ended = ran(*place.training())
        check(ended.code == 0, ended.err)
        check(place.model.is_symlink(), "the link is gone")
        check(contents(real) == contents(place.undisturbed), "the model is not where the link leads to")
    check(ran(*place.training(*PLAIN)).code == 0, "training without re-ranking failed")
    check(grown(place) == 0, "growing failed")
    check(place.model.is_symlink() and contents(real) != contents(place.undisturbed), "the model has not grown")
    check(sorted(place.folder.iterdir()) == [place.model, place.folder / "models"], "something was left behind")
    return "0: the model is where the link leads to, and the link stays"


@fault("mount point", "train, grow")
def mounted_model(place: Place) -> str:
    volume = place.mounts.small(place.model, 1 << 20)
    (volume / "lost+found").mkdir()
    running = Running(place.training())
    check(running.wait_for((volume / ".checkpoint" / "checkpoint.json").exists), "the training left no checkpoint")
    running.send(signal.SIGKILL)
    check(running.ended().code == -signal.SIGKILL, "it was not killed")
    for options in (("--resume",), ("--no-checkpoint",)):
        ended = ran(*place.training(*options))
        check(ended.code == 0, ended.err)
        check_volume(place)
    check(list(place.folder.iterdir()) == [volume], "something was left beside")
    check(ran("inspect", volume).code == 0, "it cannot be inspected")
    check(ran(*place.training(*PLAIN)).code == 0 and grown(place) == 0, "growing failed")
    return "0: the model, and the checkpoint before it, are inside; --resume ends with the same bytes"


@fault("mount point", "train, in a read-only folder")
def mounted_in_a_read_only_folder(place: Place) -> str:
    source = place.folder / "source"
    place.model.mkdir()
    source.mkdir()
    place.mounts.bound(place.model, source)
    place.mounts.read_only(place.folder)
    ended = ran(*place.training())
    check(ended.code == 0, ended.err)
    check(contents(source) == contents(place.undisturbed), "the model is not in the volume")
    return "0: nothing but the volume is written"


@fault("read-only folder", "train, grow, before they begin")
def found_out_before(place: Place) -> str:
    kept, missing = place.folder / "kept", place.folder / "no.svm"
    kept.mkdir()
    (place.folder / "link").symlink_to(kept / "model")
    place.mounts.read_only(kept)
    for target in (kept / "model", kept / "new" / "model", place.folder / "link"):
        # Training samples that are not there: who looks for them has begun.
        for options in ((), ("--no-checkpoint",)):
            ended = ran(*place.training(*options, data=missing, model=target))
            place.sentence(ended, 2, target.name, "the file system is read-only")
        ended = ran("grow", place.undisturbed, missing, "-o", target, "--quiet")
        shown = place.sentence(ended, 2, target.name, "the file system is read-only")
    return f"2, before anything is read: {shown}"


@fault("full disk", "data export")
def full_disk_in_export(place: Place) -> str:
    check(ran("data", "export", "icd10cm", place.folder / "whole").code == 0, "exporting does not work at all")
    first = (place.folder / "whole" / "train.tsv").stat().st_size
    disk = place.mounts.small(place.folder / "disk", first + 16 * 1024)  # enough for the first file, not for all
    for target in (disk / "new", disk):
        shown = place.sentence(ran("data", "export", "icd10cm", target), 1, f"{target}/", "no space is left")
        check("train.tsv" not in shown and not list(disk.iterdir()), f"{shown} left: {list(disk.iterdir())}")
    return f"1: {shown} None of its files is there"


@fault("full disk", "export to a page")
def full_disk_in_page(place: Place) -> str:
    model = place.folder / "texts"
    check(ran("train", place.shared / "texts.tsv", model, *PLAIN, "--no-checkpoint", "--quiet").code == 0, "no model")
    disk = place.mounts.small(place.folder / "disk", 2 * 4096)
    for target in (disk / "page", disk / "new" / "page"):
        shown = place.sentence(ran("export", model, target, "--quiet"), 1, f"{target}/index.html", "no space is left")
        check(not list(disk.iterdir()), f"left behind: {list(disk.iterdir())}")
    (disk / "page").mkdir()
    (disk / "page" / "notes.txt").touch()
    place.sentence(ran("export", model, disk / "page", "--quiet"), 1, "no space is left")
    check(list(contents(disk / "page")) == ["notes.txt"], "what was there before is gone")
    return f"1: {shown} Neither the page nor its folder is there"


@fault("closed stream", "predict, inspect")
def closed_streams(place: Place) -> str:
    def ended(*descriptors: int, command: tuple[Any, ...]) -> Ended:
        def work() -> int:
            from codekin.cli.main import main

            for descriptor in descriptors:  # as the interpreter has it when a shell says >&-
                os.close(descriptor)
                setattr(sys, ("stdin", "stdout", "stderr")[descriptor], None)
            return main([str(argument) for argument in command])

        return Running(work).ended()

    samples, target = place.shared / "test.svm", place.folder / "labels.txt"
    predict = ("predict", place.undisturbed)
    shown = place.sentence(ended(1, command=(*predict, samples, "--quiet")), 1, "The standard output is closed")
    place.sentence(ended(0, command=(*predict, "-", "--quiet")), 1, "The standard input is closed")
    labels = (place.shared / "predicted.txt").read_text()
    silent = ended(2, command=(*predict, samples))
    check((silent.code, silent.out) == (0, labels), f"without stderr: {silent}")
    without = ended(0, 1, 2, command=(*predict, samples, "-o", target))
    check(without.code == 0 and target.read_text() == labels, f"without any: {without}")
    check(ended(1, command=("inspect", place.undisturbed)).code == 0, "inspecting without stdout")
    return f"1: {shown}"


def grown(place: Place) -> int:
    return ran("grow", place.model, place.data, "--quiet").code


def check_volume(place: Place) -> None:
    """The volume holds the undisturbed model and what was there before."""
    found: dict[str, Any] = {path.name: path.read_bytes() for path in place.model.iterdir() if path.is_file()}
    check(found == contents(place.undisturbed), f"the volume has {sorted(found)}")
    folders = [path.name for path in place.model.iterdir() if path.is_dir()]
    check(folders == ["lost+found"], f"left behind: {folders}")
