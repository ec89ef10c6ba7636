"""`codekin serve`: what a request takes on a connection that stays open, and on a new one.

    python benchmarks/keep_alive.py [--data DIR] [--requests 500]

A real server on 127.0.0.1, with the model of `serving.py`. One client sends one text per request and waits for the
answer: in turns over a connection that stays open, and over a new one that it opens and closes for this request. The
time of a new connection counts from before it is opened.

Claim: half of the answers over a kept connection take at most 1.5 times what half of those over new ones take. Where
the server waits for the client's acknowledgement before it sends the rest of an answer (without TCP_NODELAY), a kept
connection takes 40 ms more.
"""

import argparse
import os
import re
import socket
import tempfile
import time
from pathlib import Path

import numpy as np
from serving import model_and_texts, request, server

MOST = 1.5
WARMING = 20


def answered(connection, data):
    """Send a request, and read its answer to the end."""
    connection.sendall(data)
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        received += connection.recv(65_536)
    assert received.startswith(b"HTTP/1.1 200 "), received
    n_bytes = end + 4 + int(re.search(rb"content-length: (\d+)", received)[1])
    while len(received) < n_bytes:
        received += connection.recv(65_536)


def milliseconds(port, requests):
    """The times of the same requests over a kept and over new connections, in turns."""
    kept, new = [], []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for data in requests:
            began = time.perf_counter()
            answered(connection, data)
            kept.append(time.perf_counter() - began)
            began = time.perf_counter()
            with socket.create_connection(("127.0.0.1", port)) as another:
                answered(another, data)
                new.append(time.perf_counter() - began)
    return 1e3 * np.array(kept[WARMING:]), 1e3 * np.array(new[WARMING:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = os.environ.get("CODEKIN_DATA", os.environ.get("CODEKIN_SHARED_DATA", "data"))
    parser.add_argument("--data", type=Path, default=Path(home))
    parser.add_argument("--requests", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        model, texts = model_and_texts(arguments.data, Path(temporary) / "model", is_learned=False)
        requests = [request(texts[i % len(texts)], False) for i in range(arguments.requests + WARMING)]
        with server(model) as (port, _):
            kept, new = milliseconds(port, requests)
    for name, took in (("kept", kept), ("new", new)):
        p50, p99 = np.percentile(took, [50, 99])
        print(f"{name:5} connection: p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    ratio = np.median(kept) / np.median(new)
    print(f"kept / new: {ratio:.2f} (claim: at most {MOST})")
    assert ratio <= MOST


if __name__ == "__main__":
    main()
