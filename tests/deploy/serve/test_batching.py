"""Questions that arrive together are answered together."""

import asyncio
import threading

import pytest

from codekin.deploy.serve.requests import Batcher, Limits, PredictRequest, RequestError


class Slow:
    """Answers each question with its samples in reverse, once it may; keeps the batches."""

    def __init__(self):
        self.may_answer, self.has_begun, self.batches = threading.Event(), threading.Event(), []

    def __call__(self, questions):
        self.batches.append([question.samples for question in questions])
        self.has_begun.set()
        self.may_answer.wait(10)
        if self.batches[-1] == [["all"]]:
            raise RuntimeError("all fail")
        return [ValueError("bad") if "bad" in q.samples else q.samples[::-1] for q in questions]


async def in_turn(slow, batcher, questions):
    """The answers, where the first question is being answered when the others arrive."""
    first = asyncio.create_task(batcher.answer(questions[0]))
    await asyncio.to_thread(slow.has_begun.wait, 10)
    others = [asyncio.create_task(batcher.answer(question)) for question in questions[1:]]
    await asyncio.sleep(0)
    slow.may_answer.set()
    return await asyncio.gather(first, *others, return_exceptions=True)


def answers(questions, **limits):
    slow = Slow()
    batcher = Batcher(slow, Limits(**limits))
    found = asyncio.run(in_turn(slow, batcher, questions))
    batcher.close()
    assert batcher.n_waiting == 0
    return found, slow.batches


def of(*samples, **options):
    return PredictRequest(list(samples), **options)


def test_what_arrives_during_a_prediction_is_answered_in_one_batch():
    found, batches = answers([of(1), of(2), of(3, 4), of(5)])
    assert found == [[1], [2], [4, 3], [5]]
    assert batches == [[[1]], [[2], [3, 4], [5]]]


def test_a_batch_has_a_limit_and_questions_of_one_kind():
    found, batches = answers([of(1), of(2), of(3, top_k=5), of(4, 5), of(6), of(7, top_k=5)], max_batch=3)
    assert found == [[1], [2], [3], [5, 4], [6], [7]]
    assert batches == [[[1]], [[2], [4, 5]], [[3], [7]], [[6]]]


def test_a_limit_of_one_is_no_batching():
    found, batches = answers([of(1), of(2), of(3, 4)], max_batch=1)
    assert found == [[1], [2], [4, 3]]
    assert batches == [[[1]], [[2]], [[3, 4]]]


def test_a_failing_question_fails_alone_and_a_failing_batch_stops_nothing():
    found, _ = answers([of("all"), of("bad"), of(1)])
    assert [type(one) for one in found] == [RuntimeError, ValueError, list]


def test_too_many_waiting_samples_are_refused():
    found, batches = answers([of(1), of(2), of(3, 4), of(5)], max_waiting=3)
    assert isinstance(found[2], RequestError)
    assert (found[2].status, found[2].sentence) == (503, "2 samples are waiting already; try again later.")
    assert batches == [[[1]], [[2], [5]]]


def test_a_question_that_is_given_up_is_not_answered():
    slow = Slow()
    batcher = Batcher(slow, Limits())

    async def give_up():
        first = asyncio.create_task(batcher.answer(of(1)))
        await asyncio.to_thread(slow.has_begun.wait, 10)
        second, third = (asyncio.create_task(batcher.answer(of(i))) for i in (2, 3))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        slow.may_answer.set()
        return await asyncio.gather(first, third)

    assert asyncio.run(give_up()) == [[1], [3]]
    assert slow.batches == [[[1]], [[3]]]
    batcher.close()
