import json

import pytest

from codekin_studies.engine.workspace import Journal, JournalError, Record


def record(key):
    return Record(key, "k", {"seed": 0}, {"value": 1.5}, ("array",), 0.1, 0.1, {"codekin": "0"})


@pytest.fixture
def path(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    for key in ("a", "b", "c"):
        journal.append(record(key))
    return journal.path


def test_records_come_back(path):
    assert Journal(path).records == {key: record(key) for key in ("a", "b", "c")}


@pytest.mark.parametrize("n_bytes", [1, 2, 30, 80])
def test_a_torn_last_line_is_forgotten_and_written_again(path, n_bytes):
    path.write_bytes(path.read_bytes()[:-n_bytes])
    journal = Journal(path)
    assert list(journal.records) == ["a", "b"]
    journal.append(record("d"))
    assert list(Journal(path).records) == ["a", "b", "d"]


def test_a_torn_header_is_forgotten(path):
    path.write_bytes(path.read_bytes()[:9])
    journal = Journal(path)
    journal.append(record("d"))
    assert list(Journal(path).records) == ["d"]


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"key": 1}', ""])
def test_any_other_line_is_an_error_with_its_place(path, line):
    lines = path.read_text().splitlines()
    lines[2] = line
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalError, match=r"journal\.jsonl, line 3: (not a record|this record was changed)"):
        Journal(path)


def test_another_version_is_an_error(path):
    lines = path.read_text().splitlines()
    lines[0] = json.dumps({"format": "codekin-study", "version": 99})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalError, match="line 1: the journal has version 99; this codekin reads versions 1 and 2"):
        Journal(path)


def test_another_file_is_an_error(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"some": "thing"}\n')
    with pytest.raises(JournalError, match="line 1: this is not the journal of a study"):
        Journal(path)


def test_a_changed_digit_in_a_record_is_noticed(path):
    path.write_text(path.read_text().replace('"value":1.5', '"value":1.4', 1))
    with pytest.raises(JournalError, match=r"line 2: this record was changed after it was written"):
        Journal(path)


def test_journals_of_the_first_version_are_read_and_added_to(path):
    lines = path.read_text().splitlines()
    entries = [json.loads(line) for line in lines[1:]]
    for entry in entries:
        del entry["sha256"], entry["checksums"]
    header = {"format": "codekin-study", "version": 1}
    path.write_text("".join(json.dumps(entry) + "\n" for entry in [header, *entries]))
    Journal(path).append(record("d"))
    assert Journal(path).records == {key: record(key) for key in ("a", "b", "c", "d")}
