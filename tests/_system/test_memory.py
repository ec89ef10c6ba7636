"""Available memory, on systems that report it and on systems that do not."""

from types import SimpleNamespace

import pytest

from codekin._system import memory


def test_something_is_left_here():
    assert memory.available_memory() > 0


@pytest.fixture
def system(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTROL_GROUP", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 4000 kB\nMemAvailable: 3000 kB\n")
    return tmp_path


def write_group(folder, limit):
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text("700000\n")
    (folder / "memory.stat").write_text("anon 600000\nactive_file 5\ninactive_file 100000\n")


def test_the_machine_says_what_is_available(system):
    assert memory.available_memory() == 3000 * 1024


@pytest.mark.parametrize(("limit", "expected"), [("max", 3000 * 1024), (1_000_000, 400_000), (500_000, 0)])
def test_a_container_s_limit_counts_without_its_cached_files(system, limit, expected):
    write_group(system, limit)
    assert memory.available_memory() == expected


def test_a_machine_that_does_not_say_has_its_physical_memory(system, monkeypatch):
    (system / "meminfo").unlink()
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}.__getitem__)
    assert memory.available_memory() == 40960

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "sysconf", unknown)
    assert memory.available_memory() is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("800", 800), ("5MB", 5_000_000), ("5 mb", 5_000_000), ("1.5GiB", 3 * 2**29), ("2K", 2_000), (".5kB", 500)],
)
def test_sizes_are_read_as_people_write_them(text, expected):
    assert memory.in_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "MB", "5 XB", "-5MB", "5iB", "1e6", "5MB of it"])
def test_other_words_are_no_sizes(text):
    with pytest.raises(ValueError, match="like 800, 5MB or 1.5GiB"):
        memory.in_bytes(text)


def test_freed_memory_is_given_back_where_the_system_can_do_that(monkeypatch):
    asked = []
    libraries = (None, object(), SimpleNamespace(malloc_trim=asked.append))
    for library in libraries:
        monkeypatch.setattr(memory.ctypes, "CDLL", lambda _, found=library: found)
        memory.give_back()
    assert asked == [0]  # by the one that can
