"""The server of the playground: static files, a JSON interface, and the rules for requests."""

import importlib
import json
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from keraszoo.errors import KerasZooError
from keraszoo.playground import requests
from keraszoo.saving.entries import checked
from keraszoo.serving import http

STATIC = Path(__file__).with_name("static")
HEADERS = {  # scripts, styles and requests only from and to this server
    **http.SAFE_HEADERS,
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "cross-origin-resource-policy": "same-origin",
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
            return http.error_response(404, f"there is no {name!r:.40}, expected one of {', '.join(KINDS)}")
        if http.is_from_elsewhere(request):
            return http.error_response(403, "requests from other pages are refused")
        try:
            parsed = checked(KINDS[name][1], (await http.read_body(request))[1], "", KerasZooError)
        except KerasZooError as error:
            return http.error_response(400, str(error))
        try:
            job = worker.submit(lambda progress: work(name, parsed, progress))
        except KerasZooError as error:
            return http.error_response(503, str(error))
        lines = (json.dumps(event, ensure_ascii=False) + "\n" async for event in worker.events(job))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    return Starlette(
        routes=[
            Route("/api/models", list_models),
            Route("/api/{name}", answer, methods=["POST"]),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[
            Middleware(http.AddHeaders, headers=HEADERS),
            Middleware(TrustedHostMiddleware, allowed_hosts=http.HOSTS, www_redirect=False),
        ],
    )
