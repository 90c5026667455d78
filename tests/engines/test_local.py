"""The engine of this process: its own threads, and none of BLAS besides."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from maxmargin.engines.engine import one_blas_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_until_the_last_of_overlapping_fits_ends():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has no threads to set")
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        assert blas_threads() == {1}
        second.__enter__()
        first.__exit__()
        assert blas_threads() == {1}
        second.__exit__()
        assert blas_threads() == {2}


def test_blas_gets_its_threads_back_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert blas_threads() == before
