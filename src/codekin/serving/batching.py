"""Requests that arrive while others are being answered are answered together.

No request waits for others: a thread predicts, and when it is done, it takes all that has arrived in the meantime, up
to a limit. An idle server answers each request at once; a busy one shares the fixed cost of a prediction among many.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from codekin.serving.limits import Limits, Refusal
from codekin.serving.questions import Question

Answer = Any
Answers = Callable[[Sequence[Question]], Sequence[Answer | Exception]]
"""Answers questions of one kind, each or with an exception of its own; called in another thread."""


class Batcher:
    """Collects questions, answers them in one thread, and hands out the answers."""

    def __init__(self, answers: Answers, limits: Limits, *, on_batch: Callable[[int], None] = lambda _: None) -> None:
        self.answers, self.limits, self.on_batch = answers, limits, on_batch
        self.n_waiting = 0
        self._waiting: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="codekin-predict")
        self._work: asyncio.Task[None] | None = None

    async def answer(self, question: Question) -> Answer:
        """The answer to a question; raises Refusal if too many wait, or what the question itself raised."""
        n = len(question.samples)
        if self.n_waiting > 0 and self.n_waiting + n > self.limits.max_waiting:
            raise Refusal(503, f"{self.n_waiting:,} samples are waiting already; try again later.")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        waiting = question, future
        self._waiting.append(waiting)
        self.n_waiting += n
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        try:
            return await future
        finally:
            self.n_waiting -= n

    def close(self) -> None:
        """End the thread after the current prediction."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _answer_all(self) -> None:
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        while batch := self._next_batch():
            questions = [question for question, _ in batch]
            self.on_batch(sum(len(question.samples) for question in questions))
            answers: Sequence[Answer | Exception]
            try:
                # A copy of the context for the thread: it holds the limit of threads.
                answers = await loop.run_in_executor(self._thread, context.run, self.answers, questions)
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # nobody waits any more
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _next_batch(self) -> list[tuple[Question, asyncio.Future[Answer]]]:
        """The oldest question and, as far as the limit allows, later ones of its kind; the others keep their order."""
        batch: list[tuple[Question, asyncio.Future[Answer]]] = []
        left: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        n_samples = 0
        for waiting in self._waiting:
            question, future = waiting
            if future.done():  # its request was given up
                continue
            n = len(question.samples)
            fits = n_samples + n <= self.limits.max_batch and self.limits.max_batch > 1
            if not batch or (question.kind == batch[0][0].kind and fits):
                batch.append(waiting)
                n_samples += n
            else:
                left.append(waiting)
        self._waiting = left
        return batch
