"""Ctrl-C and SIGTERM, kept until a run can stop."""

import os
import signal
import threading


class Signals:
    """Records SIGINT and SIGTERM during a block instead of letting them end the process.

    A second signal ends the process at once. Outside the main thread, where Python delivers no signals,
    nothing is recorded.

    Attributes:
        received: the first signal, or None.

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
        for kind, handler in self._before.items():
            signal.signal(kind, handler)
        self._before = {}

    def _note(self, number, frame):
        if self.received is not None:
            self.__exit__()
            os.kill(os.getpid(), number)
        self.received = self.received or signal.Signals(number)
