"""Locks keep other processes out, and end with the process."""

import os

import pytest

from codekin._system.files import locked_folder, try_lock

pytest.importorskip("fcntl")


def test_a_lock_is_given_once_and_again_after_it_was_closed(tmp_path):
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert try_lock(first)
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)


def test_a_locked_folder_is_refused_and_goes_if_it_is_empty(tmp_path):
    folder = tmp_path / "a" / "b"
    with locked_folder(folder, "busy"):
        with pytest.raises(FileExistsError, match="busy"), locked_folder(folder, "busy"):
            pass
        assert folder.is_dir()
    assert not folder.exists()
    with locked_folder(folder, "busy"):
        (folder / "kept").write_text("yes")
    assert (folder / "kept").exists()
