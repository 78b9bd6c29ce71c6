"""The command line in this process."""

import io
import sys

import pytest

from keraszoo.cli import app


@pytest.fixture
def run(capfd, monkeypatch):
    """Runs the command line: (exit code, stdout, stderr)."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            app.main([str(argument) for argument in arguments])
        sys.stdout.flush()
        return ended.value.code or 0, *capfd.readouterr()

    return run
