"""Refuses to compute where the state of the process would give other answers, or none.

A fork copies the locks of TensorFlow and CTranslate2 but not their threads, so the child would wait forever.
`floatx` of Keras is the type of every number without one: in float16, some overflow.
"""

import os
import sys

from keraszoo.errors import KerasZooError

_process = None  # the id of the one that made the first model


def check_process():
    """Raises KerasZooError in a forked child of a process that has made a model, or if `floatx` is changed.

    To be called before a model is made or used; the first call notes the process.
    """
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise KerasZooError(
            "this process was forked from one that has a model, but not its threads: it would wait forever; "
            "load models after the fork (multiprocessing: spawn, gunicorn: no --preload, spaCy: n_process=1)"
        )
    keras = sys.modules.get("keras")  # CTranslate2 does without
    if keras is not None and keras.config.floatx() != "float32":
        raise KerasZooError(
            f"keras.config.floatx() is {keras.config.floatx()}, expected float32; the precision of models is "
            "set by keras.config.set_dtype_policy"
        )
