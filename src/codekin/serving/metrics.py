"""What a server has done so far, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SAMPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """How many values were at most each of some bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str) -> Iterator[str]:
        """The lines of the text format."""
        so_far = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            so_far += count
            yield f'{name}_bucket{{le="{bound}"}} {so_far}'
        yield f"{name}_sum {self.total:.9g}"
        yield f"{name}_count {so_far}"


class Metrics:
    """Counts of one server; changed only by the thread of its event loop."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.n_samples = self.n_in_progress = 0
        self.seconds, self.batches = Histogram(SECONDS), Histogram(SAMPLES)

    def text(self, n_waiting: int) -> str:
        """All metrics, each with its type and a sentence."""
        return "\n".join(self._lines(n_waiting)) + "\n"

    def _lines(self, n_waiting: int) -> Iterator[str]:
        yield from _head("codekin_requests_total", "counter", "Requests that were answered, by path and status.")
        for (path, status), count in sorted(self.requests.items()):
            yield f'codekin_requests_total{{path="{path}",status="{status}"}} {count}'
        for name, kind, help, value in (
            ("samples_total", "counter", "Samples that were predicted.", self.n_samples),
            ("requests_in_progress", "gauge", "Requests that are being answered.", self.n_in_progress),
            ("samples_waiting", "gauge", "Samples that are being predicted or wait for it.", n_waiting),
            ("predict_seconds", "histogram", "From the header of a prediction's request to its end.", self.seconds),
            ("batch_samples", "histogram", "Samples that were predicted together.", self.batches),
        ):
            yield from _head(f"codekin_{name}", kind, help)
            yield from value.lines(f"codekin_{name}") if isinstance(value, Histogram) else [f"codekin_{name} {value}"]


def _head(name: str, kind: str, help: str) -> tuple[str, str]:
    return f"# HELP {name} {help}", f"# TYPE {name} {kind}"
