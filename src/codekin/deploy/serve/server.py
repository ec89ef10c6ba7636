"""The server of ``codekin serve``: uvicorn, with limits on connections and on clients that are slow."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from codekin.deploy.serve.application import Application, error_body

MAX_HEADER_BYTES = 32_768
MAX_CONNECTIONS = 512
MAX_LAST_SECONDS = 1.0
"""How long a server that stops, or has refused a connection, still reads what clients send."""


def listener(host: str, port: int) -> socket.socket:
    """A socket that is bound to an address, but refuses connections as yet; port 0 is any free port."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror:
        raise ValueError(f"There is no host {host!r} to listen on.") from None
    # asyncio sends answers without delay (TCP_NODELAY) only if the socket knows its protocol.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows, this would let two servers share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        return bound
    except OSError as error:
        bound.close()
        reason = str(error.strerror or error)
        raise OSError(f"Cannot listen on {host}, port {port}: {reason[:1].lower()}{reason[1:]}.") from None


def url_of(bound: socket.socket) -> str:
    """Where a bound socket can be reached."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(
    application: Application,
    bound: socket.socket,
    *,
    max_connections: int = MAX_CONNECTIONS,
    on_start: Callable[[uvicorn.Server], None] = lambda _: None,
) -> None:
    """Answer requests until SIGINT or SIGTERM; then accept no more, answer all who are connected, and return.

    Requests in progress get as long as a request may take at most, connections without one another second. A second
    SIGINT does not wait for them. ``on_start`` gets the server when it listens; ``should_exit = True`` stops it like a
    signal.
    """
    seconds = application.limits.max_seconds
    # Every broken request would be a line of the log; they are counted instead.
    for name in ("uvicorn.error", "uvicorn.asgi"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        application,
        http=_protocol(application, max_connections),
        ws="none",
        backlog=2 * max_connections,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=math.ceil(seconds),
        timeout_graceful_shutdown=math.ceil(2 * seconds) + 1,
    )
    server = _Server(config, application, on_start)
    try:
        # uvicorn raises the signal once more when it is done, which is no interruption then.
        with suppress(KeyboardInterrupt, asyncio.CancelledError):
            asyncio.run(server.serve(sockets=[bound]))
    finally:
        application.batcher.close()


class _Server(uvicorn.Server):
    """Says when it has started and when it stops."""

    def __init__(self, config: uvicorn.Config, application: Application, on_start: Any) -> None:
        super().__init__(config)
        self.application, self.on_start = application, on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_start(self)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.application.is_stopping = True
        # Closing the socket resets connections that wait to be accepted. After the last one, asyncio needs two rounds
        # of its loop to tell its protocol.
        n_idle = 0
        for _ in range(1_000):  # even if there are always new ones
            await asyncio.sleep(0)
            n_idle = 0 if select.select(sockets or (), (), (), 0)[0] else n_idle + 1
            if n_idle == 3:
                break
        await super().shutdown(sockets)


def _protocol(application: Application, max_connections: int) -> type[asyncio.Protocol]:
    """The protocol of uvicorn with a limit for every wait: for a header, for a slow reader, for the next request."""
    seconds = application.limits.max_seconds
    last_seconds = min(seconds, MAX_LAST_SECONDS)

    class Protocol(H11Protocol):
        _watch: asyncio.TimerHandle | None = None
        _is_refused = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > 2 * max_connections:
                transport.abort()
            elif len(self.connections) > max_connections:
                self._refuse(503, f"The server has {max_connections} connections already; try again later.")
            else:
                self._end_after(last_seconds if application.is_stopping else seconds)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            if self._is_refused or self.transport.is_closing():
                return
            super().data_received(data)
            if self.cycle is not before:
                # The application limits the time of a body and of a prediction, each by `seconds`.
                self._end_after(3 * seconds)

        def on_response_complete(self) -> None:
            before = self.cycle
            super().on_response_complete()
            # A request that came together with the last one may have begun.
            self._end_after(seconds if self.cycle is before else 3 * seconds)

        def shutdown(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                # A request may be on its way or unread; closing now would reset the connection.
                self._end_after(last_seconds)
            else:
                super().shutdown()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._watch is not None:
                self._watch.cancel()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:  # noqa: ARG002  (uvicorn's words)
            self._refuse(400, "This is not a request of HTTP/1.1.")

        def _refuse(self, status: int, sentence: str) -> None:
            body = error_body(sentence)
            phrase = {400: "Bad Request", 503: "Service Unavailable"}[status]
            head = (
                f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode("ascii") + body)
            # What the client still sends is discarded for a while: closing at once would reset the connection, and the
            # client might lose the answer.
            self.transport.write_eof()
            self._is_refused = True
            self._end_after(last_seconds)

        def _end_after(self, limit: float) -> None:
            """End the connection after this many seconds, unless something happens before."""
            if self._watch is not None:
                self._watch.cancel()
            self._watch = self.loop.call_later(limit, self.transport.abort)

    return Protocol
