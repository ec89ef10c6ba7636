import pytest

from codekin import __version__
from codekin.cli.main import app, main


@pytest.fixture
def command(monkeypatch):
    """A function: adds a command ``fail`` that raises a given error."""
    monkeypatch.setattr(app, "registered_commands", list(app.registered_commands))

    def add(error):
        def fail() -> None:
            raise error

        app.command("fail")(fail)

    return add


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"codekin {__version__}\n"


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    shown = capsys.readouterr()
    assert "Usage: codekin" in shown.out + shown.err


@pytest.mark.parametrize("argument", ["no-such-command", "--no-such-option"])
def test_what_is_not_understood_ends_with_2_on_stderr(argument, capsys):
    assert main([argument]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert argument in shown.err


def test_an_error_is_one_sentence_on_stderr(command, capsys):
    command(ValueError("4 bits cannot tell 20 codewords apart; at least 5 are needed."))
    assert main(["fail"]) == 1
    shown = capsys.readouterr()
    assert shown.err == "codekin: 4 bits cannot tell 20 codewords apart; at least 5 are needed.\n"
    assert shown.out == ""


def test_a_defect_is_called_one(command, capsys):
    command(TypeError("'int' object is not iterable"))
    assert main(["fail"]) == 1
    assert "TypeError: 'int' object is not iterable. This is a defect of codekin" in capsys.readouterr().err


def test_debug_shows_where_an_error_arose(command):
    command(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        main(["--debug", "fail"])


def test_an_interrupt_is_no_traceback(command, capsys):
    command(KeyboardInterrupt())
    assert main(["fail"]) != 0
    assert "Traceback" not in capsys.readouterr().err
