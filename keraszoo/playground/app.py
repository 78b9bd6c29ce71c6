"""The server of the playground: static files, a JSON interface, and the rules for requests."""

import importlib
import json
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from keraszoo.errors import KerasZooError
from keraszoo.playground import requests
from keraszoo.saving.entries import checked

STATIC = Path(__file__).with_name("static")
HOSTS = ["127.0.0.1", "localhost"]  # other names may be resolved to this machine by somebody else
LARGEST = 1_000_000  # bytes of a request
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


KINDS = {  # name -> module of the function with this name, and its requests
    "translate": ("translate", requests.Translate),
    "step": ("translate", requests.Step),
    "tag": ("tag", requests.Tag),
    "ask": ("ask", requests.Ask),
    "kernel": ("layers", requests.Kernel),
    "positions": ("layers", requests.Positions),
    "softmax": ("layers", requests.Softmax),
}


def make_app(models, worker):
    """Returns the application.

    `POST /api/NAME` takes a JSON object and answers with lines of JSON: any number of `{"progress": ...}`,
    then one `{"result": ...}` or `{"error": ...}`. `GET /api/models` lists the models.

    Args:
        models: `Models`.
        worker: the `Worker` that runs all requests.
    """

    async def list_models(request):
        content = json.dumps(list(models.about.values()))  # ASCII: a name may hold half a surrogate pair
        return Response(content, media_type="application/json")

    def work(name, parsed, progress):
        module = importlib.import_module(f"keraszoo.playground.{KINDS[name][0]}")  # it imports Keras
        return getattr(module, name)(parsed, models, progress)

    async def answer(request):
        name = request.path_params["name"]
        if name not in KINDS:
            return _error(404, f"there is no {name!r:.40}, expected one of {', '.join(KINDS)}")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{request.headers['host']}":
            return _error(403, "requests from other pages are refused")
        try:
            parsed = checked(KINDS[name][1], await _body(request), "", KerasZooError)
        except KerasZooError as error:
            return _error(400, str(error))
        try:
            job = worker.submit(lambda progress: work(name, parsed, progress))
        except KerasZooError as error:
            return _error(503, str(error))
        lines = (json.dumps(event, ensure_ascii=False) + "\n" async for event in worker.events(job))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    return Starlette(
        routes=[
            Route("/api/models", list_models),
            Route("/api/{name}", answer, methods=["POST"]),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[
            Middleware(_SafeHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
        ],
    )


async def _body(request):
    """The body of a request. Raises KerasZooError if it is too long, or not sent as JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # a form of another page could send other types without asking
        raise KerasZooError(f"content-type: expected application/json, got {kind!r:.40}")
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                raise KerasZooError(f"expected a request of at most {LARGEST:,} bytes, got more")
    except ClientDisconnect:
        raise KerasZooError("the request ended early") from None
    return body


def _error(status, message):
    return JSONResponse({"error": " ".join(message.split())}, status)


class _SafeHeaders:
    """Adds `HEADERS` to every response: scripts, styles and requests only from and to this server."""

    def __init__(self, app):
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope, receive, send):
        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        await self.app(scope, receive, send_with_headers)
