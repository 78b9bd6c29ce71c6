"""Runs the playground on a port of this machine."""

from keraszoo.playground.app import make_app
from keraszoo.serving.listen import bound, run
from keraszoo.serving.worker import Worker


def serve(models, port=0, prepare=None, started=None):
    """Serves the page on 127.0.0.1 until Ctrl-C.

    Args:
        models: `Models`.
        port: the port; 0: a free one.
        prepare: a function called first in the thread that computes, such as the import of TensorFlow.
        started: a function called with the address of the page as soon as it can be opened.

    Raises:
        KerasZooError: the port is in use or not allowed.
    """
    with bound(port) as (listener, address):
        listener.listen()
        if started is not None:
            started(address)
        run(make_app(models, Worker(prepare)), listener, patience=1)
