import io
import os
import re
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest

from codekin.cli import display
from codekin.cli.display import Bar, Display, Log, in_time
from codekin.progress import Progress, report, subscribe


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lines():
    return []


@pytest.fixture
def log(lines, clock):
    return Log(lines.append, clock)


def test_a_stage_is_named_when_it_begins_and_not_again(log, lines):
    for done in range(3):
        log.hear(Progress("reading", done, 3))
    log.hear(Progress("learning"))
    assert lines == ["reading", "learning"]


def test_a_step_that_tells_nothing_is_never_silent_for_two_seconds(log, lines, clock):
    log.hear(Progress("searching"))
    written_at = [clock.now]
    while clock.now < 60:
        clock.now += display.SECONDS_BETWEEN_LOOKS
        n_before = len(lines)
        log.look()
        written_at += [clock.now] * (len(lines) - n_before)
    assert max(b - a for a, b in pairwise(written_at)) < 2
    assert lines[-1].startswith("searching, ")


def test_looks_are_taken_while_the_work_is_busy(lines, clock, monkeypatch):
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LOOKS", 0.001)
    log, has_looked = Log(lines.append, clock), threading.Event()
    look = log.look
    monkeypatch.setattr(log, "look", lambda: (look(), has_looked.set()))
    with log.shown():
        log.hear(Progress("searching"))
        clock.now = 5.0
        assert has_looked.wait(60)
        has_looked.clear()
        assert has_looked.wait(60)
    assert lines == ["searching", "searching, 5 s"]


def test_a_rate_is_shown_once_enough_time_has_passed(log, lines, clock):
    log.hear(Progress("learning", 0, 1_000, unit="samples"))
    clock.now = 1e-6
    log.hear(Progress("learning", 100, 1_000, unit="samples"))
    assert log.text == "learning, 10%, 0 s"
    clock.now = 2.0
    log.hear(Progress("learning", 500, 1_000, unit="samples"))
    assert log.text == "learning, 50%, 250 samples/s, 2 s, about 2 s left"
    clock.now = 3.0
    assert log.text == "learning, 50%, 250 samples/s, 3 s, about 1 s left"


@pytest.mark.parametrize("number", [int, float, np.int64, np.float32])
def test_numbers_of_any_type_are_shown_alike(number, log, lines, clock):
    with subscribe(log.hear):
        for done in (0, 10, 20):
            clock.now = done
            report("learning", number(done), number(40), count=number(done), unit="samples")
            log.look()
    assert lines[-1] == "learning, 50%, 1 samples/s, 20 s, about 20 s left"


def test_what_was_done_before_an_interruption_is_no_part_of_the_rate(log, clock):
    log.hear(Progress("learning"))
    clock.now = 1.0
    log.hear(Progress("learning", 900_000, 1_000_000, unit="samples"))
    clock.now = 11.0
    log.hear(Progress("learning", 901_000, 1_000_000, unit="samples"))
    assert log.text == "learning, 90%, 100 samples/s, 11 s, about 16 min 30 s left"


def test_something_besides_is_said_once_and_leaves_the_stage_alone(log, lines, clock):
    log.hear(Progress("learning"))
    for _ in range(3):
        log.hear(Progress("", detail="compiling"))
        assert log.text == "learning, compiling, 0 s"
        log.hear(Progress(""))
    assert log.text == "learning, 0 s"
    assert lines == ["learning", "compiling"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (99, "99 s"), (125, "2 min 5 s"), (7_384, "2 h 3 min")],
)
def test_times_are_in_words(seconds, text):
    assert in_time(seconds) == text


def test_a_reader_that_has_gone_does_not_end_the_work(clock, monkeypatch):
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LOOKS", 0.001)
    has_failed = threading.Event()

    def write(_):
        has_failed.set()
        raise BrokenPipeError

    log = Log(write, clock)
    with log.shown():
        log.stage = display.Stage(0.0, Progress("searching"), 0.0, Progress("searching"), 0.0)
        clock.now = 5.0
        assert has_failed.wait(60)


def test_quiet_is_silent(capsys):
    shown = Display(quiet=True)
    with shown.watching():
        report("reading")
        shown.note("a note")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_stage_in_place(clock):
    from rich.console import Console

    screen = io.StringIO()
    bar = Bar(clock)
    bar.bars.live.console = Console(file=screen, force_terminal=True, width=100)
    with bar.shown():
        bar.hear(Progress("learning bits", 0, 100))
        clock.now = 3.0
        bar.hear(Progress("learning bits", 50, 100))
        bar.bars.refresh()
        bar.hear(Progress("", detail="compiling kernels"))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert "learning bits, 50%, 3 s, about 3 s left" in text
    assert "compiling kernels\n" in text


def test_work_that_is_usually_short_is_shown_if_it_is_not(lines, clock):
    log = Log(lines.append, clock, only_if_slow=True)
    log.hear(Progress("loading"))
    log.look()
    assert lines == []
    clock.now = 2.0
    log.look()
    assert lines == ["loading, 2 s"]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("term", "is_replaced"), [("xterm", True), ("dumb", False)])
def test_lines_of_a_slow_start_do_not_stay_in_a_terminal(term, is_replaced, monkeypatch):
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LINES", 0)
    monkeypatch.setenv("TERM", term)
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with display.starting():
            shown = os.read(ours, 1_000)
            while shown.count(b"starting, ") < 3:
                shown += os.read(ours, 1_000)
        print("done", file=terminal, flush=True)
        while b"done" not in shown:
            shown += os.read(ours, 1_000)
    os.close(ours)
    lines, column = [""], 0
    for character in shown.decode():
        if character == "\n":
            lines, column = [*lines, ""], 0
        elif character == "\r":
            column = 0
            continue
        else:
            lines[-1] = lines[-1][:column] + character + lines[-1][column + 1 :]
            column += 1
    assert ([line.strip() for line in lines] == ["done", ""]) == is_replaced
