"""Ctrl-C and a polite kill, kept until a run can stop in order."""

import os
import signal
import threading


class Signals:
    """Notes SIGINT and SIGTERM while a block runs, in which they would otherwise end the process.

    The second one ends it at once, as if nothing stood in its way. Outside the main thread, where Python
    gives no signals, nothing is kept.

    Attributes:
        received: the first of them, or None.

    Example:

    >>> with Signals() as signals:
    ...     os.kill(os.getpid(), signal.SIGTERM)
    ...     signals.received.name
    'SIGTERM'
    """

    def __init__(self):
        self.received = None
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for kind in (signal.SIGINT, signal.SIGTERM):
                self._before[kind] = signal.signal(kind, self._note)
        return self

    def __exit__(self, *error):
        self._restore()

    def _note(self, number, frame):
        if self.received is not None:
            self._restore()
            os.kill(os.getpid(), number)
        self.received = self.received or signal.Signals(number)

    def _restore(self):
        for kind, handler in self._before.items():
            signal.signal(kind, handler)
        self._before = {}
