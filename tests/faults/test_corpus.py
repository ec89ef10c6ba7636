"""Every broken input gives a one-sentence error with the file and the line, and leaves nothing behind.

``make corpus`` feeds the same inputs to separate processes, and prints their time and memory.
"""

import os
import sys

import pytest

from codekin.cli.main import main

if not sys.platform.startswith("linux"):
    pytest.skip("the corpus is fed with the means of Linux", allow_module_level=True)

from tests.faults.feeding import CORPUS, listing, set_up, what_is_wrong
from tests.faults.place import made_data_and_model


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    made_data_and_model(folder)
    return folder


def test_no_input_is_there_twice():
    names = [(case.kind, case.name) for case in CORPUS]
    assert len(set(names)) == len(names)
    assert sum(case.code != 0 for case in CORPUS) >= 60


@pytest.mark.parametrize("kind", sorted({case.kind for case in CORPUS}))
def test_a_broken_input_is_answered_by_a_sentence(kind, shared, tmp_path, monkeypatch, capsys):
    wrong = []
    for number, case in enumerate(CORPUS):
        if case.kind != kind:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = set_up(case, shared, folder)
        before = listing(folder)
        monkeypatch.chdir(folder)
        code = main(arguments)
        shown = capsys.readouterr()
        reason = what_is_wrong(case, code, shown.out, shown.err)
        if not reason and code != 0 and listing(folder) != before:
            reason = f"left behind: {sorted(set(os.listdir(folder)))}"  # noqa: PTH208
        wrong += [f"{case.name}: {reason}"] if reason else []
    assert not wrong, "\n".join(wrong)
