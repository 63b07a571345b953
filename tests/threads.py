"""Results must not depend on how many threads computed them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import engine


def assert_same_for_any_thread_count(compute: Callable[[], Sequence[engine.Tensor]]) -> None:
    """Asserts that every tensor ``compute()`` returns has the same bits for 1, 2, 3 and 5 threads.

    >>> assert_same_for_any_thread_count(lambda: [x.sum(axis=0)])
    """
    before = engine.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 5):
            engine.set_num_threads(threads)
            results.append([t.detach().numpy().tobytes() for t in compute()])
    finally:
        engine.set_num_threads(before)
    for other in results[1:]:
        assert other == results[0]
