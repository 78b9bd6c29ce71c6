"""What the servers share about HTTP: the body of a request, errors as JSON, and requests that are refused."""

import asyncio

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from keraszoo.errors import KerasZooError

HOSTS = ["127.0.0.1", "localhost"]  # other names may be resolved to this machine by somebody else
LARGEST = 1_000_000  # bytes of a request
SECONDS = 30  # to send it
TEXT = 50_000  # characters of a text
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def error_response(status, message, headers=None):
    """A response with one line about an error, as `{"error": ...}`."""
    return JSONResponse({"error": " ".join(str(message).split())}, status, headers)


def is_from_elsewhere(request, allowed=()):
    """Whether a request comes from a page of another server that is not one of the `allowed` origins."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")  # HTTP/1.0 needs none
    own = (None, f"http://{host}", f"https://{host}")
    return origin not in (*own, *allowed) and "*" not in allowed


async def read_body(request, kinds=(JSON,)):
    """Reads a request; returns its media type and its body.

    Raises:
        KerasZooError: it is too long, incomplete or too slow, or of another media type than `kinds`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:  # a form of another page could send other types without asking
        raise KerasZooError(f"content-type: expected {' or '.join(kinds)}, got {kind!r:.40}")
    body = b""
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST:
                    raise KerasZooError(f"expected a request of at most {LARGEST:,} bytes, got more")
    except ClientDisconnect:
        raise KerasZooError("the request ended early") from None
    except TimeoutError:
        raise KerasZooError(f"expected the whole request within {SECONDS} seconds") from None
    return kind, body


class AddHeaders:
    """Adds headers to every response."""

    def __init__(self, app, headers):
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope, receive, send):
        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        await self.app(scope, receive, send_with_headers)
