"""The commands `serve` and `playground`."""

import contextlib
import logging
import warnings
import webbrowser
from typing import Annotated

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.cli.console import Beam
from keraszoo.cli.translator import Engine
from keraszoo.errors import InputWarning, KerasZooError
from keraszoo.messages import say

WAITING = 128  # requests, many of which run together


def serve(
    models: Annotated[
        list[str] | None,
        Argument(
            metavar="MODELS",
            help="Names or directories, also MODEL=en-de and TAGGER=CORPUS; the best included by default.",
        ),
    ] = None,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 chooses a free one.")] = 5000,
    engine: Engine = "keras",
    beam_width: Beam = None,
    jit_compile: Annotated[
        bool, Option("--jit-compile", help="Let XLA compile programs for single texts.")
    ] = False,
    allow_origin: Annotated[
        list[str] | None, Option(metavar="ORIGIN", help="Pages that may use it, as https://example.org.")
    ] = None,
):
    """Serve translators and taggers over HTTP, as LibreTranslate does. Ctrl-C ends it."""
    if engine == "ctranslate2":
        console.refuse("--engine ctranslate2", jit_compile=jit_compile or None)
    with _extra("serve"):
        from keraszoo.serving.app import make_app
        from keraszoo.serving.http import HOSTS
        from keraszoo.serving.listen import bound, run
        from keraszoo.serving.loading import load_models
        from keraszoo.serving.worker import SECONDS, Worker

    console.one_thread_per_operation()
    warnings.simplefilter("ignore", InputWarning)  # about texts of others
    with console.results() as write, bound(port, host) as (listener, address):
        console.import_keras()
        served = load_models(models or (), engine, beam_width, jit_compile, say)
        hosts = HOSTS if host in HOSTS else ["*"]
        app = make_app(served, Worker(waiting=WAITING), hosts, allow_origin or ())
        listener.listen()
        if hosts == ["*"]:
            say(f"warning: whoever reaches {address} can use it: there is no password and no encryption")
        write([address])
        run(app, listener, patience=SECONDS)


def playground(
    models: Annotated[
        list[str] | None,
        Argument(
            metavar="MODELS", help="Names or directories; all included models on this machine by default."
        ),
    ] = None,
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 chooses a free one.")] = 0,
    open_: Annotated[bool, Option("--open", help="Open the page in a web browser.")] = False,
):
    """Serve a page on 127.0.0.1 to try models and look into them. Ctrl-C ends it."""
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # each set of search options is traced
    with _extra("playground"):
        from keraszoo.playground.app import make_app
        from keraszoo.playground.models import Models
        from keraszoo.serving.listen import bound, run
        from keraszoo.serving.worker import Worker

    with console.results() as write, bound(port) as (listener, address):
        found = Models(models or ())
        listener.listen()
        write([address])
        if open_:
            webbrowser.open(address)
        run(make_app(found, Worker(console.import_keras)), listener, patience=1)


@contextlib.contextmanager
def _extra(name):
    """Turns a package that cannot be imported into the error that names the extra of a command."""
    try:
        yield
    except ImportError as error:
        raise KerasZooError(f"{error}; `keraszoo {name}` needs pip install 'keraszoo[{name}]'") from error
