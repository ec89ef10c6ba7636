from numba import njit

from codekin.kernels.compiling import WHAT
from codekin.progress import report, subscribe


def test_a_compilation_is_told_of_when_it_begins_and_when_it_is_over():
    inner = njit(lambda x: x + 1)
    outer = njit(lambda x: inner(x) + inner(x + 1.5))
    told = []
    with subscribe(told.append):
        report("counting")
        assert outer(1) == 5.5
        n_told = len(told)
        assert outer(2) == 7.5
    assert [progress.stage for progress in told] == ["counting", *[""] * (n_told - 1)]
    assert [progress.detail for progress in told[1:]] == [*[WHAT] * (n_told - 2), ""]
    assert len(told) == n_told > 2
