"""Files of a folder that is here or behind a URL, from any byte on."""

import contextlib
import http.client
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from keraszoo import __version__
from keraszoo.errors import PresetError

TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 18


class BrokenTransfer(PresetError):
    """A transfer that stopped midway and may be taken up again."""


class Folder:
    """A folder, given by its path or by a URL with http, https or file.

    Args:
        address: the path or the URL.

    Attributes:
        is_remote: whether another machine is asked.

    Raises:
        PresetError: another kind of URL.
    """

    def __init__(self, address):
        self.address = str(address).rstrip("/")
        try:
            parts = urllib.parse.urlsplit(self.address)
        except ValueError as error:
            raise PresetError(f"{address}: is no URL: {error}") from error
        self.is_remote = parts.scheme in ("http", "https")
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            self.address = urllib.request.url2pathname(parts.path)
        elif "://" in self.address and not self.is_remote:
            raise PresetError(f"{address}: expected a folder, or a URL with http, https or file")

    def __str__(self):
        return self.address

    def read(self, name, start, most):
        """Yields the bytes of a file in pieces.

        Args:
            name: of the file, relative.
            start: the first byte wanted; one that a server sends before it is dropped.
            most: bytes that the file may have.

        Raises:
            BrokenTransfer: the connection was lost, or there was none.
            PresetError: there is no such file, or it has more bytes.
        """
        with self._remote(name, start) if self.is_remote else self._local(name, start) as file:
            while chunk := _piece(file, CHUNK):
                start += len(chunk)
                if start > most:
                    raise PresetError(f"{self}/{name}: has more than the {most:,} bytes expected")
                yield chunk

    @contextlib.contextmanager
    def _local(self, name, start):
        path = Path(self.address, name)
        try:
            file = open(path, "rb")
        except (OSError, ValueError) as error:
            raise PresetError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from error
        with file:
            file.seek(start)
            yield file

    @contextlib.contextmanager
    def _remote(self, name, start):
        url = f"{self.address}/{urllib.parse.quote(name)}"
        headers = {"User-Agent": f"keraszoo/{__version__}", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        try:
            answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            error.close()
            kind = BrokenTransfer if error.code >= 500 else PresetError
            raise kind(f"{url}: {error.code} {error.reason}") from error
        except ValueError as error:
            raise PresetError(f"{url}: is no URL: {error}") from error
        except (OSError, http.client.HTTPException) as error:
            raise BrokenTransfer(f"{url}: {getattr(error, 'reason', None) or error}") from error
        with answer:
            part = answer.headers.get("Content-Range", "")
            skip = 0 if answer.status == 206 and part.startswith(f"bytes {start}-") else start
            while skip:  # a server that knows no parts sends the whole
                chunk = _piece(answer, min(skip, CHUNK))
                if not chunk:
                    raise BrokenTransfer(f"{url}: ended before byte {start:,}")
                skip -= len(chunk)
            yield answer


def _piece(file, size):
    try:
        return file.read(size)
    except (OSError, http.client.HTTPException) as error:
        raise BrokenTransfer(f"the connection broke: {error or type(error).__name__}") from error
