"""Work shared out to a few threads, with results in order and bounded look-ahead.

Threads rather than processes: Pillow releases the interpreter lock while it decodes and resizes,
and nothing has to be copied between processes or survive a fork.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

THREAD_NAME = "zoo-data"
_MOST_THREADS = 8


def default_threads() -> int:
    """One thread for each CPU this process may use, at most 8.

    A full look-ahead keeps them asleep while the engine is the slower part, so they take its cores
    only when it would have to wait for pictures.
    """
    if hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    else:
        cpus = os.cpu_count() or 1
    return min(cpus, _MOST_THREADS)


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, ahead: int
) -> Generator[Result, None, None]:
    """Results of `function` for each item, in the items' order, computed on `threads` threads.

    At most `ahead` items are taken from `items` before their turn. An exception of `function` is
    raised when its item's turn comes. When the iterator is closed, fails or is interrupted, queued
    work is dropped, and running calls are awaited, so that no thread outlives it.

    >>> list(ordered_map(abs, [-1, 2], threads=2, ahead=2))
    [1, 2]
    """
    from concurrent.futures import Future, ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads, thread_name_prefix=THREAD_NAME)
    queue: deque[Future[Result]] = deque()
    try:
        for item in items:
            queue.append(pool.submit(function, item))
            if len(queue) >= max(ahead, 1):
                yield queue.popleft().result()
        while queue:
            yield queue.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
