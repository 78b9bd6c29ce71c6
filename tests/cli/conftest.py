"""The command line in this process."""

import io
import sys

import pytest

from keraszoo.cli import app


@pytest.fixture
def run(capfd, monkeypatch):
    """Runs the command line: (exit code, stdout, stderr)."""

    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "")  # what a command sets ends with the test
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS")

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            app.main([str(argument) for argument in arguments])
        sys.stdout.flush()
        return ended.value.code or 0, *capfd.readouterr()

    return run
