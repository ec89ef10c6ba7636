import threading

import numpy as np
import pytest

from codekin._system.parallel import available_threads, limited_threads, prepared, run_blocks


def test_a_limit_holds_within_its_block_only():
    before = available_threads()
    with limited_threads(1):
        assert available_threads() == 1
        with limited_threads(None):
            assert available_threads() == before
        assert available_threads() == 1
    assert available_threads() == before


def test_a_limit_gives_nobody_more_processors_than_there_are():
    before = available_threads()
    with limited_threads(10_000):
        assert available_threads() == before


def test_no_threads_are_too_few():
    with pytest.raises(ValueError, match="at least 1. Got 0"), limited_threads(0):
        pass


@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_blocks_cover_every_item_once(n_threads):
    visits = np.zeros(1_003, dtype=int)

    def visit(start, stop):
        visits[start:stop] += 1

    run_blocks(visit, len(visits), block=100, n_threads=n_threads)
    assert (visits == 1).all()


def test_within_a_limit_of_one_nothing_leaves_the_thread():
    names = set()
    with limited_threads(1):
        run_blocks(lambda start, stop: names.add(threading.current_thread().name), 50, block=10)
    assert names == {threading.current_thread().name}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_what_a_block_raises_is_raised(n_threads):
    def fail(start, stop):
        raise ZeroDivisionError(start)

    with pytest.raises(ZeroDivisionError):
        run_blocks(fail, 10, block=2, n_threads=n_threads)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_what_is_prepared_arrives_in_order_and_not_too_early(n_threads):
    begun = []

    def squared(number):
        begun.append(number)
        return number**2

    for number, square in enumerate(prepared(squared, range(50), n_threads=n_threads)):
        assert square == number**2
        assert max(begun) <= number + 2 * n_threads
    assert sorted(begun) == list(range(50))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_while_preparing_reaches_the_caller(n_threads):
    def divided(number):
        return 1 / (number - 7)

    with pytest.raises(ZeroDivisionError):
        list(prepared(divided, range(50), n_threads=n_threads))
