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
from contextlib import ExitStack, contextmanager

import pytest
from tests.cli.conftest import CODEKIN, ENVIRONMENT
from tests.deploy.serve.conftest import WORDS, Answer
from uvicorn.protocols.http.h11_impl import H11Protocol

from codekin.deploy.serve import Limits, application
from codekin.deploy.serve.server import listener, run_server, url_of

QUESTION = b'{"samples": ["apple and river"]}'
HEAD = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
posix = pytest.mark.skipif(os.name != "posix", reason="other systems have no SIGTERM to send")
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
        return received_by(connection)


def received_by(connection):
    """All that a client receives until the server ends the connection."""
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
    "a length and chunks": (HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
    "chunks and a length": (HEAD + b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n" + WHOLE, 400),
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
    received = sent(port, WHOLE * 20 + WHOLE.replace(b"host: localhost", b"host: localhost\r\nconnection: close"))
    assert received.count(b"HTTP/1.1 200 OK") == received.count(b'{"predictions"') == 21


def test_answers_are_sent_without_delay(text_folder, monkeypatch):
    made, accepted = H11Protocol.connection_made, []

    def noted(protocol, transport):
        connection = transport.get_extra_info("socket")
        accepted.append(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        made(protocol, transport)

    monkeypatch.setattr(H11Protocol, "connection_made", noted)
    with running(application(text_folder)) as port:
        assert predicted(port) in WORDS
    assert accepted == [True]


def test_a_target_may_be_a_whole_url(port):
    for target, status in (
        (b"http://localhost:8000/health", 200),
        (b"HTTP://127.0.0.1/v1/model?x=http://", 200),
        (b"http://localhost:8000", 404),
        (b"ftp://localhost/health", 404),
    ):
        received = sent(port, b"GET %s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n" % target)
        assert received.startswith(b"HTTP/1.1 %d " % status), target
    assert sent(
        port, WHOLE.replace(b"/v1", b"http://localhost/v1").replace(b"\r\n", b"\r\nconnection: close\r\n", 1)
    ).count(b'"label"')


def test_requests_for_other_hosts_are_refused(text_folder):
    """A page of another host whose name leads to this computer (DNS rebinding) must not read answers."""
    app = application(text_folder)
    app.host_names = ["Models.example", "[::2]", "10.0.0.7"]
    with running(app) as port:

        def status(host, target="/health"):
            head = f"GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
            return int(sent(port, head.encode("latin-1")).split()[1])

        ours = "localhost LOCALHOST:80 127.0.0.1 127.1.2.3:8000 [::1] [::1]:8000 models.example:80 10.0.0.7 [::2]:1"
        assert [host for host in ours.split() if status(host) != 200] == []
        others = "evil.example evil.example:8000 localhost.evil.example 127.0.0.1.evil.example 10.0.0.8 [::3] 0.0.0.0"
        others = [*others.split(), "", "[", "]:", "user@localhost", "localhost:x", "localhost,evil.example", "caf\xe9"]
        assert [host for host in others if status(host) != 421] == []
        # The host of a whole URL counts, not that of the header.
        assert status("localhost", "http://evil.example/health") == 421
        assert status("evil.example", "http://localhost/health") == 200
        assert sent(port, b"GET /health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        answer = request(port, "GET", "/metrics", host="evil.example")
        assert answer.error == (
            "The host of a request must be localhost, a loopback address, the address of this server, or a name given "
            'by --host-name. Got "evil.example".'
        )


def test_upgrades_are_ignored(port):
    upgrade = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n"
    assert sent(port, upgrade).startswith(b"HTTP/1.1 200 OK")


def test_many_clients_get_their_own_answers(text_folder):
    with running(application(text_folder)) as port, ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda word: predicted(port, word), WORDS * 10)) == list(WORDS) * 10


def test_connections_beyond_the_limit_are_refused_and_later_ones_answered(text_folder):
    with running(application(text_folder, limits=Limits(max_seconds=5.0)), max_connections=3) as port:
        idle = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(3)]
        received = sent(port, b"")
        assert received.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert b"The server has 3 connections already; try again later." in received
        for connection in idle:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
            while connection.recv(100):
                pass
            connection.close()
        assert request(port, "GET", "/health").status == 200


@contextmanager
def serving(model, *options):
    """A server as a process of its own, and its port."""
    command = [*CODEKIN, "serve", str(model), "--port=0", *options]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            (port,) = re.findall(r" answers at http://127\.0\.0\.1:(\d+)\n", process.stdout.readline())
            yield process, int(port)
        finally:
            process.kill()


@posix
def test_clients_that_wait_to_be_accepted_when_a_signal_comes_are_answered(text_folder):
    with serving(text_folder, "--max-seconds=20") as (process, port), ExitStack() as stack:
        kept = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        kept.sendall(WHOLE)
        assert kept.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        process.send_signal(signal.SIGSTOP)
        clients = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(100)]
        for connection in (kept, *clients[::2]):
            connection.sendall(WHOLE)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        for connection in clients[1::2]:
            connection.sendall(WHOLE)
        answers = [received_by(stack.enter_context(connection)) for connection in (kept, *clients)]
        assert [answer for answer in answers if b'"label"' not in answer] == []
        assert process.wait(60) == 0


@posix
@pytest.mark.parametrize("signal_after", [0.0, 0.05, 0.15])
def test_clients_that_connect_before_a_signal_are_answered(text_folder, signal_after):
    signalled = threading.Event()
    with serving(text_folder, "--max-seconds=20") as (process, port):

        def client(number):
            time.sleep(0.002 * number)
            try:
                connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            except ConnectionError:
                assert signalled.is_set()
                return None
            is_early = not signalled.is_set()
            with connection:
                try:
                    connection.sendall(WHOLE)
                    return is_early, received_by(connection)
                except ConnectionError:
                    return is_early, b""

        with ThreadPoolExecutor(150) as pool:
            results = [pool.submit(client, number) for number in range(150)]
            time.sleep(signal_after)
            signalled.set()
            process.send_signal(signal.SIGTERM)
            answers = [result.result() for result in results]
        assert process.wait(60) == 0
    early = [answer[1] for answer in answers if answer is not None and answer[0]]
    assert [answer for answer in early if b'"label"' not in answer] == []


@posix
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_after_the_request_in_progress(text_folder, signal_number):
    with serving(text_folder, "--max-seconds=20") as (process, port):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(WHOLE[:-5])
            # An answered request shows that the server has seen the other one.
            assert request(port, "GET", "/health").status == 200
            process.send_signal(signal_number)
            while is_listening(port):
                time.sleep(0.05)
            connection.sendall(WHOLE[-5:])
            received = received_by(connection)
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
