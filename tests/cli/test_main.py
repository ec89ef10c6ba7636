import errno
import re
import subprocess
import sys
import textwrap
from importlib import import_module

import pytest
import typer

from codekin import __version__
from codekin.cli.main import COMMANDS, app, main
from codekin.data import DataError
from codekin.storage import ModelFolderError
from tests.cli.conftest import CODEKIN, ENVIRONMENT


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
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("4 bits cannot tell 20 codewords apart; at least 5 are needed."), 2),
        (DataError("train.svm", "feature index 0 after 17; indices must increase within a line.", line=812), 2),
        (ModelFolderError("model is not a model folder: it has no model.json."), 2),
        (FileNotFoundError("train.svm: there is no such file."), 2),
        (FileExistsError("notes exists and is not a model folder."), 2),
        (PermissionError("model: writing is not permitted."), 2),
        (OSError("No space left on device."), 1),
        (ConnectionError("https://example.org cannot be downloaded: the server says 404."), 1),
        (MemoryError("AROW needs 9 GiB, but 2 GiB are available."), 1),
        (ImportError("Figures need matplotlib."), 1),
    ],
)
def test_wrong_input_ends_with_2_and_what_could_not_be_done_with_1(error, code, command, capsys):
    command(error)
    assert main(["fail"]) == code
    shown = capsys.readouterr()
    assert shown.err == f"codekin: {error}\n"
    assert shown.out == ""


@pytest.mark.parametrize(
    ("error", "sentence", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a.svm"), "a.svm: no space is left on the disk.", 1),
        (OSError(errno.ENOSPC, "No space left on device"), "No space is left on the disk.", 1),
        (OSError(errno.EROFS, "Read-only", "/a/.b.svm.0123abcd.partial"), "/a/b.svm: the file system is read-only.", 2),
        (PermissionError(errno.EACCES, "Permission denied", "a.svm"), "a.svm: permission is denied.", 2),
        (OSError(errno.EIO, "Input/output error", "a.svm"), "a.svm: input/output error.", 1),
        (
            MemoryError(),
            "There is not enough memory. codekin train --max-memory trains on samples that stay on disk.",
            1,
        ),
    ],
)
def test_errors_of_the_system_name_the_file_and_the_reason(error, sentence, code, command, capsys):
    command(error)
    assert main(["fail"]) == code
    assert capsys.readouterr().err == f"codekin: {sentence}\n"


def test_an_error_of_several_lines_becomes_one(command, capsys):
    command(ValueError("first line\n    second line"))
    assert main(["fail"]) == 2
    assert capsys.readouterr().err == "codekin: first line second line.\n"


@pytest.mark.parametrize("error", [TypeError("'int' object is not iterable"), KeyError("bits"), AssertionError()])
def test_a_defect_is_called_one(error, command, capsys):
    command(error)
    assert main(["fail"]) == 1
    shown = capsys.readouterr().err
    assert type(error).__name__ in shown
    assert "This is a bug in codekin" in shown


def test_debug_shows_where_an_error_arose(command):
    command(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        main(["--debug", "fail"])


def test_an_interrupt_is_no_traceback(command, capsys):
    command(KeyboardInterrupt())
    assert main(["fail"]) == 130
    assert capsys.readouterr().err == "codekin: interrupted.\n"


def test_a_reader_who_has_gone_is_no_error(command, capsys):
    command(BrokenPipeError())
    assert main(["fail"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_as_the_list_of_commands_does(name, capsys):
    assert main([name, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Usage: codekin {name}" in shown
    assert COMMANDS[name] in shown


def every_command():
    """Each command line before ``--help``, and what typer knows about the command."""
    yield "", typer.main.get_command(app)
    for name in COMMANDS:
        command = typer.main.get_command(import_module(f"codekin.cli.{name}").app)
        yield name, command
        for below, subcommand in getattr(command, "commands", {}).items():
            yield f"{name} {below}", subcommand


EVERY_COMMAND = dict(every_command())


@pytest.mark.parametrize("line", EVERY_COMMAND)
def test_at_80_columns_a_sentence_of_the_help_has_at_least_30_of_them(line, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*line.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    command = EVERY_COMMAND[line]
    sentences = [parameter.help for parameter in command.params]
    sentences += [below.get_short_help_str(limit=1000) for below in getattr(command, "commands", {}).values()]
    for sentence in sentences:
        assert textwrap.wrap(sentence, 30)[0] in shown


@pytest.mark.parametrize("line", EVERY_COMMAND)
def test_the_help_shows_no_type_of_a_flag_and_no_type_that_says_nothing(line, capsys):
    assert main([*line.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    for wrong in ("<bool>", " range>", "<Any>", "-completion", "\\["):
        assert wrong not in shown


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("trian", "train"),
        ("data lits", "list"),
        ("predict --jsno -q", "--json"),
        ("train --code tre a b -q", "tree"),
        ("train --time-limit x a b -q", ""),
        ("xyzzy", ""),
    ],
)
def test_a_sentence_with_a_suggestion_ends_with_one_mark(line, meant, capsys):
    assert main(line.split()) == 2
    said = capsys.readouterr().err
    assert re.search(r"[^.?!][.?] See codekin[ a-z]* --help\.\n$", said)
    assert meant in said or "mean" not in said  # older versions of typer suggest no commands


def test_asking_for_help_loads_none_of_the_library():
    code = "import sys; from codekin.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & {"numpy", "scipy", "sklearn", "numba", "matplotlib", "safetensors"}


def test_the_module_is_the_command():
    done = subprocess.run([*CODEKIN, "--version"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == f"codekin {__version__}\n"
