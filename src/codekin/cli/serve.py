"""``codekin serve``: a model that answers requests over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codekin._system.messages import counted
from codekin._system.parallel import limited_threads
from codekin.cli.display import Display, show
from codekin.cli.options import App, NThreads, Quiet, Trust, positive_number, size
from codekin.progress import report

app = App()


@app.command()
def serve(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    host: Annotated[
        str, typer.Option(help="The address to listen on. By default only this computer can reach it.")
    ] = "127.0.0.1",
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name by which others call this computer; may be given several times."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 for any that is free.")] = 8_000,
    max_body_bytes: Annotated[
        int, typer.Option(parser=size, metavar="SIZE", help="The size of a request's body, such as 1MB.")
    ] = "1MB",  # type: ignore[assignment]
    max_seconds: Annotated[
        float,
        typer.Option(
            parser=positive_number, metavar="SECONDS", help="The time a body may take to arrive, and then a prediction."
        ),
    ] = 10.0,
    max_samples: Annotated[int, typer.Option(min=1, help="The samples of a request.")] = 1_000,
    max_top_k: Annotated[int, typer.Option(min=1, help="The labels of a sample.")] = 100,
    max_batch: Annotated[
        int, typer.Option(min=1, help="How many samples of different requests to predict together; 1 for none.")
    ] = 256,
    max_connections: Annotated[int, typer.Option(min=1, help="How many connections may be open.")] = 512,
    n_threads: NThreads = None,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Answer requests over HTTP with a model.

    POST /v1/predict takes JSON or lines of text and returns the best labels, with probabilities if requested.
    GET /health and GET /metrics are for monitoring; GET /v1/openapi.json describes all of it. Ctrl-C and SIGTERM stop
    the server after the requests in progress. It has no passwords and no encryption: let a reverse proxy face the
    internet.
    """
    from codekin.deploy.serve import Limits, application
    from codekin.deploy.serve.server import listener, run_server, url_of

    max_waiting = max(10 * max_samples, 10_000)
    limits = Limits(max_body_bytes, max_seconds, max_samples, max_top_k, max_batch, max_waiting)
    display = Display(quiet)
    with listener(host, port) as bound, limited_threads(n_threads):
        with display.watching(only_if_slow=True):
            report(f"loading {model}")
            answering = application(model, limits=limits, trusted=trust)
            answering.host_names = [host, *(host_name or ())]
        line = f"{model} answers at {url_of(bound)}"
        run_server(answering, bound, max_connections=max_connections, on_start=lambda _: show(line))
    if not quiet:
        n_requests = counted(answering.metrics.requests.total(), "request")
        display.note(f"stopped after {n_requests} and {counted(answering.metrics.n_samples, 'sample')}")
