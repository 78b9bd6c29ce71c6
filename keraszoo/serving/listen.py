"""A port of this machine, and the web server on it."""

import contextlib
import socket

import uvicorn

from keraszoo.errors import KerasZooError

LOOPBACK = "127.0.0.1"


@contextlib.contextmanager
def bound(port=0, host=LOOPBACK):
    """Yields a socket bound to a port, 0 for a free one, and the address of its pages, `http://HOST:PORT/`.

    Raises:
        KerasZooError: the port is in use or not allowed, or the host is not one of this machine.
    """
    with contextlib.ExitStack() as stack:
        try:
            family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = stack.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except (OSError, OverflowError) as error:
            where = f"port {port}" if host == LOOPBACK else f"{host}, port {port}"
            said = getattr(error, "strerror", None) or error
            raise KerasZooError(f"{where}: cannot be used: {said}") from error
        name = f"[{host}]" if ":" in host else host
        yield listener, f"http://{name}:{listener.getsockname()[1]}/"


def run(app, listener, patience):
    """Serves an application until Ctrl-C or SIGTERM; then answers requests under way for some seconds."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=patience
    )
    uvicorn.Server(config).run(sockets=[listener])
