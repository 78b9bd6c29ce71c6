"""Several batches at once, each on a thread of its own: how tasks use all cores for many sentences."""

import os
from concurrent.futures import ThreadPoolExecutor

MOST = 8  # batches at once, each with the memory of one


def batches_at_once():
    """The number of batches that run at once: one per core, at most `MOST` and `OMP_NUM_THREADS`.

    Only TensorFlow without a GPU runs several. Its threads for single operations gain little from the small
    products of a batch; it is fastest with one such thread (`TF_NUM_INTRAOP_THREADS=1`) and a batch per core.
    """
    import keras  # not above: the engine ctranslate2 uses `in_threads` without Keras

    if keras.backend.backend() != "tensorflow":
        return 1
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, MOST, int(limit) if limit.isdecimal() and int(limit) else MOST)


def in_threads(function, items, threads):
    """Calls a function with each item of a sequence, in `threads` threads; yields the results in order.

    With one thread, or one item, the calling thread does all. After an exception, such as a
    KeyboardInterrupt, calls that are still waiting are cancelled.
    """
    if threads == 1 or len(items) < 2:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(min(threads, len(items)))
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)
