"""Folders appear whole and flushed to disk, where symbolic links lead."""

import os
from pathlib import Path

import pytest

from codekin._system.files import check_folder, followed, is_fixed, whole_file, whole_files, whole_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_replaces_the_one_before_it_as_a_whole(can_exchange, tmp_path, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr("codekin._system.files._exchange", lambda one, other: False)
    for content in ("old", "new"):
        with whole_folder(tmp_path / "model") as folder:
            (folder / content).write_text(content)
    assert names(tmp_path / "model") == ["new"]
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("write", [whole_folder, whole_files])
def test_an_interruption_leaves_the_folder_as_it_was(write, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").write_text("old")

    def interrupted():
        with write(tmp_path / "model") as folder:
            (folder / "new").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert names(tmp_path / "model") == ["old"]
    assert names(tmp_path) == ["model"]


def test_files_join_those_that_are_in_the_folder(tmp_path):
    for name, content in (("kept", "old"), ("replaced", "old")):
        (tmp_path / name).write_text(content)
    with whole_files(tmp_path) as folder:
        (folder / "replaced").write_text("new")
        (folder / "added").write_text("new")
        assert (tmp_path / "replaced").read_text() == "old"
    assert {name: (tmp_path / name).read_text() for name in names(tmp_path)} == {
        "added": "new",
        "kept": "old",
        "replaced": "new",
    }


@pytest.mark.parametrize("is_there", [True, False], ids=["to a folder", "dangling"])
def test_a_folder_is_written_where_a_link_leads_to(is_there, tmp_path):
    if is_there:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "old").touch()
    (tmp_path / "second").symlink_to("real")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    with whole_folder(tmp_path / "first") as folder:
        (folder / "new").touch()
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert names(tmp_path / "real") == ["new"]
    assert names(tmp_path) == ["first", "real", "second"]


@pytest.mark.parametrize("is_there", [True, False], ids=["to a file", "dangling"])
def test_a_file_is_written_where_a_link_leads_to(is_there, tmp_path):
    if is_there:
        (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with whole_file(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_links_in_a_circle_are_named(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    for look in (followed, check_folder):
        with pytest.raises(OSError, match="ymbolic links.*one"):
            look(tmp_path / "one")


def test_what_is_not_a_file_is_written_as_it_is_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    (tmp_path / "link").symlink_to("pipe")
    with whole_file(tmp_path / "link") as stream:
        stream.write(b"seen")
    assert os.read(reader, 100) == b"seen"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert names(tmp_path) == ["link", "pipe"]


def test_a_place_where_nothing_can_be_written_is_found_out_before(tmp_path):
    (tmp_path / "file").touch()
    for wrong in (tmp_path / "file" / "model", tmp_path / "file" / "below" / "model"):
        with pytest.raises(NotADirectoryError, match="model"):
            check_folder(wrong)
    with pytest.raises(OSError, match="too long"):
        check_folder(tmp_path / ("long" * 60))
    check_folder(tmp_path / "new" / "model")
    check_folder(tmp_path)
    assert names(tmp_path) == ["file"]


def test_an_ordinary_folder_is_not_fixed_and_stays_as_it_is(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").touch()
    before = (tmp_path / "model").stat().st_ino
    assert not is_fixed(tmp_path / "model")
    assert not is_fixed(tmp_path / "nowhere")
    assert (tmp_path / "model").stat().st_ino == before
    assert names(tmp_path / "model") == ["old"]
    assert names(tmp_path) == ["model"]


# ----- what is on the disk ------------------------------------------------------------------------------------------


@pytest.fixture
def events(monkeypatch):
    """What was brought to the disk and what was renamed, in their order: inodes, and pairs of paths."""
    seen = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def recorded(original):
        def move(source, target):
            seen.append((Path(source), Path(target)))
            original(source, target)

        return move

    def sync(descriptor):
        seen.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", recorded(rename))
    monkeypatch.setattr(os, "replace", recorded(replace))
    return seen


def test_all_files_and_names_of_a_folder_are_on_the_disk_before_it_gets_its_name_and_that_name_is_after(
    tmp_path, events
):
    with whole_folder(tmp_path / "model") as folder:
        (folder / "parts").mkdir()
        (folder / "parts" / "inner").write_text("as libraries write it")
        (folder / "outer").write_text("the same")
    model = tmp_path / "model"
    (naming,) = [i for i, event in enumerate(events) if isinstance(event, tuple) and event[1] == model]
    for path in (model, model / "outer", model / "parts", model / "parts" / "inner"):
        assert path.stat().st_ino in events[:naming], path
    assert tmp_path.stat().st_ino in events[naming:]


def test_a_file_is_on_the_disk_before_it_gets_its_name_and_that_name_is_after(tmp_path, events):
    with whole_file(tmp_path / "page.html") as stream:
        stream.write(b"hello")
    before, (_, target), after = events
    assert (before, target, after) == (
        (tmp_path / "page.html").stat().st_ino,
        tmp_path / "page.html",
        tmp_path.stat().st_ino,
    )
