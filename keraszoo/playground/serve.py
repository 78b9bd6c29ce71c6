"""Runs the playground on a port of this machine."""

import socket

import uvicorn

from keraszoo.errors import KerasZooError
from keraszoo.playground.app import make_app
from keraszoo.playground.worker import Worker


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
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            problem = getattr(error, "strerror", None) or error
            raise KerasZooError(f"port {port}: cannot be used: {problem}") from error
        listener.listen()
        if started is not None:
            started(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        app = make_app(models, Worker(prepare))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[listener])
