"""The server on the loopback address: hostile clients, many clients, and a stop during a request."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from codekin.serving import Limits, application
from codekin.serving.server import listener, run_server, url_of
from tests.cli.conftest import CODEKIN, ENVIRONMENT
from tests.serving.conftest import WORDS, Answer

QUESTION = b'{"samples": ["apple and river"]}'
HEAD = b"POST /v1/predict HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n"
WHOLE = HEAD + b"content-length: %d\r\n\r\n%s" % (len(QUESTION), QUESTION)


@contextmanager
def running(app, **options):
    """The port of a server in a thread of this process."""
    started, servers = threading.Event(), []

    def note(server):
        servers.append(server)
        started.set()

    with listener("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        thread = threading.Thread(target=run_server, args=(app, bound), kwargs={"on_start": note, **options})
        thread.start()
        assert started.wait(20)
        yield port
        servers[0].should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def port(text_folder):
    with running(application(text_folder, limits=Limits(max_body_bytes=20_000, max_seconds=0.7))) as port:
        yield port


def request(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


def predicted(port, text="apple and river"):
    answer = request(port, "POST", "/v1/predict", json.dumps({"samples": [text]}), content_type="application/json")
    return answer.predictions[0]["label"]


def is_listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=20).close()
    except ConnectionError:
        return False
    return True


def sent(port, *parts):
    """All that comes back until the server ends the connection, which it must."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
        received = b""
        while data := connection.recv(65_536):
            received += data
    return received


def test_a_running_server_answers(port):
    assert predicted(port) in WORDS
    assert request(port, "GET", "/health").json == {"status": "ok"}
    assert request(port, "HEAD", "/health").body == b""
    answer = request(port, "POST", "/v1/predict?top_k=2", "apple\nriver\n", content_type="text/plain")
    assert [len(best["top"]) for best in answer.predictions] == [2, 2]


HOSTILE = {
    "no HTTP": (b"\x16\x03\x01\x02\x00 hello\r\n\r\n", 400),
    "another protocol": (b"PRI / HTTP/2.0\r\nconnection: close\r\n\r\n", 404),
    "a broken header": (b"GET /health HTTP/1.1\r\nhost here\r\n\r\n", 400),
    "a huge header": (b"GET /health HTTP/1.1\r\nhost: " + b"x" * 100_000, 400),
    "two lengths": (HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}", 400),
    "a negative length": (HEAD + b"content-length: -1\r\n\r\n{}", 400),
    "a broken chunk": (HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n", 400),
    "a slow body": (HEAD + b"content-length: 100\r\n\r\n{", 408),
    "a large body": (HEAD + b"content-length: 50000\r\n\r\n" + b" " * 50_000, 413),
    "a huge body": (HEAD + b"content-length: 900000\r\n\r\n" + b" " * 350_000, 413),
    "endless chunks": (HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"1000\r\n%s\r\n" % (b" " * 4_096) * 90, 413),
    "a slow header": (b"GET /health HTTP/1.1\r\nho", None),
    "silence": (b"", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_requests_end_with_an_error_or_without_an_answer(port, name):
    data, status = HOSTILE[name]
    received = sent(port, data)
    if status is None:
        assert received == b""
    else:
        head, _, body = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert list(json.loads(body)) == ["error"]
    assert predicted(port) in WORDS


def test_a_client_that_leaves_early_disturbs_nobody(port):
    for data in (HEAD, HEAD + b"content-length: 90\r\n\r\n{", WHOLE, WHOLE * 50):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(data)
    assert predicted(port) in WORDS


def test_requests_that_are_sent_at_once_are_all_answered(port):
    received = sent(port, WHOLE * 20 + WHOLE.replace(b"host: here", b"host: here\r\nconnection: close"))
    assert received.count(b"HTTP/1.1 200 OK") == received.count(b'{"predictions"') == 21


def test_upgrades_are_ignored(port):
    upgrade = b"GET /health HTTP/1.1\r\nhost: here\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n"
    assert sent(port, upgrade).startswith(b"HTTP/1.1 200 OK")


def test_many_clients_get_their_own_answers(port):
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda word: predicted(port, word), WORDS * 10)) == list(WORDS) * 10


def test_connections_beyond_the_limit_are_refused_and_later_ones_answered(text_folder):
    with running(application(text_folder, limits=Limits(max_seconds=5.0)), max_connections=3) as port:
        idle = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(3)]
        received = sent(port, b"")
        assert received.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert b"The server has 3 connections already; try again later." in received
        for connection in idle:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
            while connection.recv(100):
                pass
            connection.close()
        assert request(port, "GET", "/health").status == 200


@pytest.mark.skipif(os.name != "posix", reason="other systems have no SIGTERM to send")
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_after_the_request_in_progress(text_folder, signal_number):
    command = [*CODEKIN, "serve", str(text_folder), "--port=0", "--max-seconds=20"]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        (port,) = re.findall(r" answers at http://127\.0\.0\.1:(\d+)\n", process.stdout.readline())
        with socket.create_connection(("127.0.0.1", int(port)), timeout=20) as connection:
            connection.sendall(WHOLE[:-5])
            # An answered request shows that the server has seen the other one.
            assert request(int(port), "GET", "/health").status == 200
            process.send_signal(signal_number)
            while is_listening(int(port)):
                time.sleep(0.05)
            connection.sendall(WHOLE[-5:])
            received = b""
            while data := connection.recv(65_536):
                received += data
        assert received.startswith(b"HTTP/1.1 200 OK")
        assert b'"label"' in received
        assert process.wait(20) == 0
        assert process.stderr.read().splitlines()[-1] == "stopped after 2 requests and 1 sample"


def test_a_port_that_is_taken_and_an_unknown_host_are_errors_of_one_sentence():
    with listener("127.0.0.1", 0) as bound:
        bound.listen()
        with pytest.raises(OSError, match=r"Cannot listen on 127\.0\.0\.1, port \d+: .* in use\.$"):
            listener("127.0.0.1", bound.getsockname()[1])
        assert url_of(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"
    with pytest.raises(ValueError, match="There is no host 'no such host' to listen on."):
        listener("no such host", 0)
