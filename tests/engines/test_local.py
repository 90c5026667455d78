"""The engine of this process: its own threads, and none of BLAS besides."""

import time
from functools import partial
from threading import Event, current_thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from maxmargin.engines.engine import AHEAD, Local, engine_of, one_blas_thread, running_engine


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


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_results_come_in_order_while_few_calls_are_ahead(n_jobs):
    begun = []

    def call(k):
        begun.append(k)
        time.sleep(0.002 * (k % 3))  # later calls may end first
        return k

    with Local(n_jobs) as engine:
        for k, found in enumerate(engine.ahead([partial(call, k) for k in range(30)])):
            assert found == k
            assert len(begun) <= k + 1 + (AHEAD * n_jobs if n_jobs > 1 else 0)


def test_a_result_is_used_while_the_next_one_is_computed():
    used = Event()
    with Local(2) as engine:
        for k, found in enumerate(engine.ahead([lambda: True, lambda: used.wait(20), lambda: used.wait(20)])):
            assert found, "the second call waited for the end of the loop"
            if k == 0:
                used.set()


def test_an_error_of_a_call_ahead_is_raised_in_its_turn():
    with Local(2) as engine:
        results = engine.ahead([lambda: 1, lambda: 1 // 0, lambda: 3])
        assert next(results) == 1
        with pytest.raises(ZeroDivisionError):
            next(results)
        assert list(engine.ahead([lambda: 4, lambda: 5])) == [4, 5]


def test_calls_ahead_within_a_thread_of_the_engine_run_there():
    with Local(2) as engine:

        def inner():
            return [thread is current_thread() for thread in engine.ahead([current_thread] * 3)]

        assert list(engine.ahead([inner] * 4)) == [[True] * 3] * 4


def test_data_are_encoded_by_the_engine_of_the_fit():
    outside = running_engine()
    assert outside.n_jobs == 1
    with engine_of(None, 2) as engine:
        assert running_engine() is engine
        with engine_of(Local(3), None) as other:
            assert running_engine() is other
        assert running_engine() is engine
    assert running_engine() is outside


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_error_of_the_first_chunk_is_raised_and_later_chunks_are_dropped(n_jobs):
    begun = []

    def task(ids, chunk):
        begun.append(chunk.start)
        if chunk.start == 128:
            time.sleep(0.02)  # the error of a later chunk comes first
        if chunk.start >= 128:
            raise ValueError(str(chunk.start))

    with Local(n_jobs) as engine:
        with pytest.raises(ValueError, match=r"^128$"):
            engine.map(task, np.arange(1024))
        assert len(begun) < 16
        done = []
        engine.map(lambda ids, chunk: done.extend(ids), np.arange(1024))
        assert sorted(done) == list(range(1024))
