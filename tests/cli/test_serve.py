"""``codekin serve``: wrong command lines; the server itself is tested in tests/deploy/serve."""

import socket
import sys


def test_a_missing_model_a_taken_port_and_wrong_limits_are_refused(run, tmp_path):
    shown = run("serve", tmp_path / "none", "--port=0")
    assert (shown.code, shown.out) == (2, "")
    assert "is not a model folder" in shown.err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        shown = run("serve", tmp_path, f"--port={port}")
    assert (shown.code, shown.err.count("\n")) == (1, 1)
    assert shown.err.startswith(f"codekin: Cannot listen on 127.0.0.1, port {port}: ")
    for option in ("--port=70000", "--max-body-bytes=no", "--max-seconds=0", "--max-batch=0"):
        assert run("serve", tmp_path, option).code == 2


def test_without_the_extra_the_command_says_what_to_install(run, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("codekin.deploy.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    shown = run("serve", tmp_path)
    assert shown.code == 1
    assert shown.err == (
        "codekin: Serving a model needs starlette and uvicorn. Install with: pip install starlette uvicorn.\n"
    )
