"""Ctrl-C and SIGTERM, kept until a run can stop."""

import os
import signal
import threading


class Signals:
    """Records SIGINT or SIGTERM as `received` during a block instead of letting it end the process.

    A second signal ends the process at once. Outside the main thread, where Python delivers no signals,
    nothing is recorded.
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
