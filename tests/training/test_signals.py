"""Signals wait until a run can stop, but only once."""

import os
import signal
import threading

import pytest

from keraszoo.training.signals import Signals


def test_the_first_is_noted_and_the_second_ends_what_runs():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Signals() as signals:
        os.kill(os.getpid(), signal.SIGINT)
        assert signals.received == signal.SIGINT
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_nothing_is_touched():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def block():
        with Signals() as signals:
            seen.append((signal.getsignal(signal.SIGTERM), signals.received))

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert seen == [(before, None)]
