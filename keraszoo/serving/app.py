"""The JSON interface of `keraszoo serve`: that of LibreTranslate for translators, and one for taggers."""

import asyncio

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from keraszoo import __version__
from keraszoo.errors import KerasZooError
from keraszoo.serving import documents, http, requests


def make_app(served, worker, hosts=http.HOSTS, origins=()):
    """Returns the application.

    Args:
        served: `Served`.
        worker: the `Worker` that runs all requests.
        hosts: names under which clients may reach the server; `["*"]`: any.
        origins: origins of pages in browsers that may use it, such as `"https://example.org"`.
    """

    async def translate(request):
        given = await _parsed(requests.Translate, request)
        source = served.source(given.source)
        pair, texts = served.pair(source, given.target), _listed(given.q)
        if given.format == "html":
            versions = await _result(worker, request, pair.translate_html, texts)
        else:
            split, sentences = await run_in_threadpool(_split, pair, texts, source)
            found = iter(await _result(worker, request, pair.translate, sentences))
            versions = [documents.versions([next(found) for _ in some], gaps) for some, gaps in split]
        answer = {"translatedText": [some[0] for some in versions]}
        if given.source == "auto":
            answer["detectedLanguage"] = [_undetected(source)] * len(texts)
        if given.alternatives:
            answer["alternatives"] = [some[1 : given.alternatives + 1] for some in versions]
        return {key: value if given.q is texts else value[0] for key, value in answer.items()}

    async def detect(request):
        await _parsed(requests.Detect, request)
        return [_undetected(served.source("auto"))]

    async def tag(request):
        given = await _parsed(requests.Tag, request)
        texts = _listed(given.text)
        found = await _result(worker, request, served.tagger(given.model).tag, texts)
        entities = [[entity.as_dict() for entity in some] for some in found]
        return {"entities": entities if given.text is texts else entities[0]}

    async def languages(request):
        return served.languages()

    async def health(request):
        about = {"version": __version__, "waiting": worker.waiting, "models": served.about()}
        return {"status": "ok", **about}

    def answering(function):
        async def answer(request):
            if http.is_from_elsewhere(request, origins):
                return http.error_response(403, "requests from other pages are refused")
            try:
                return JSONResponse(await function(request))
            except KerasZooError as error:
                return http.error_response(400, error)

        return answer

    posts, gets = {"/translate": translate, "/detect": detect, "/tag": tag}, (languages, health)
    middleware = [
        Middleware(http.AddHeaders, headers=http.SAFE_HEADERS),
        Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
    ]
    if origins:
        middleware.append(Middleware(CORSMiddleware, allow_origins=origins, allow_headers=["content-type"]))
    return Starlette(
        routes=[
            *(Route(path, answering(function), methods=["POST"]) for path, function in posts.items()),
            *(Route(f"/{function.__name__}", answering(function)) for function in gets),
        ],
        middleware=middleware,
        exception_handlers={HTTPException: _http_error},
    )


async def _parsed(entries, request):
    return requests.parsed(entries, *await http.read_body(request, (http.JSON, http.FORM)))


def _listed(texts):
    return texts if isinstance(texts, list) else [texts]


def _split(pair, texts, language):
    """What `documents.split` makes of each text, and the sentences of all, which the model can read."""
    split = [documents.split(text, language) for text in texts]
    sentences = [sentence for some, _ in split for sentence in some]
    pair.check(sentences)
    return split, sentences


def _undetected(code):
    """The language of a text as LibreTranslate states it; the confidence says that nothing was detected."""
    return {"confidence": 0.0, "language": code}


async def _result(worker, request, work, items):
    """The results of a worker for items; gives the request up if its client does.

    Raises:
        KerasZooError: the work refuses an item.
        HTTPException: the queue is full, it takes too long, or it fails.
    """
    answer = asyncio.create_task(_answer(worker, work, items))
    gone = asyncio.create_task(_disconnected(request))
    await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not answer.done():
        answer.cancel()
        raise HTTPException(499, "the client has gone")
    return answer.result()


async def _answer(worker, work, items):
    """Submits items in parts, so that other requests need not wait for all of a large one."""
    results = []
    for start in range(0, len(items), worker.together):
        try:
            job = worker.submit(work, items[start : start + worker.together])
        except KerasZooError as error:
            raise HTTPException(503, str(error), {"retry-after": "1"}) from None
        *_, event = [event async for event in worker.events(job)]
        if "error" in event:
            status = job.status
            raise KerasZooError(event["error"]) if status == 400 else HTTPException(status, event["error"])
        results += event["result"]
    return results


async def _disconnected(request):
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _http_error(request, error):
    return http.error_response(error.status_code, error.detail, error.headers)
