"""What a server allows, and the answer to what it does not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one request may be, and how many may wait.

    Parameters
    ----------
    max_body_bytes : int, default=1_000_000
        The size of a request's body.
    max_seconds : float, default=10.0
        The time a request's body may take to arrive, and then its prediction.
    max_samples : int, default=1_000
        The samples of a request.
    max_top_k : int, default=100
        The labels of a sample.
    max_batch : int, default=256
        How many samples of different requests are predicted together; 1 predicts each request on its own.
    max_waiting : int, default=10_000
        How many samples may wait before further requests are refused.
    """

    max_body_bytes: int = 1_000_000
    max_seconds: float = 10.0
    max_samples: int = 1_000
    max_top_k: int = 100
    max_batch: int = 256
    max_waiting: int = 10_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"The {name!r} parameter of Limits must be greater than 0. Got {value!r} instead.")


class Refusal(Exception):  # noqa: N818  (it is an answer, not a fault)
    """A request that is not answered: the HTTP status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
