"""Refuses to compute in a forked child of a process that has a model.

A fork copies the locks of TensorFlow and CTranslate2 but not their threads, so the child would wait forever.
"""

import os

from keraszoo.errors import KerasZooError

_process = None  # the id of the one that made the first model


def check_process():
    """Raises KerasZooError if this process was forked from one that has made a model.

    To be called before a model is made or used; the first call notes the process.
    """
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise KerasZooError(
            "this process was forked from one that has a model, but not its threads: it would wait forever; "
            "load models after the fork (multiprocessing: spawn, gunicorn: no --preload, spaCy: n_process=1)"
        )
