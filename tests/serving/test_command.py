"""The command `keraszoo serve`; tests/serving/test_server.py has the server."""

import socket
import sys

import pytest


@pytest.fixture
def served(monkeypatch):
    """What the command loads and runs."""
    calls = []
    monkeypatch.setattr("keraszoo.serving.loading.load_models", lambda *given: calls.append(given[:-1]))
    monkeypatch.setattr("keraszoo.serving.app.make_app", lambda *given: calls.append(given[2:]))
    monkeypatch.setattr("keraszoo.serving.listen.run", lambda app, listener, patience: calls.append(patience))
    return calls


def test_it_loads_the_models_and_prints_the_address(run, served):
    options = ["--port", "0", "--beam-width", "2", "--engine", "ctranslate2"]
    code, printed, message = run("serve", "first", "second=en-de", *options)
    assert (code, message) == (0, "") and printed.startswith("http://127.0.0.1:")
    models, app, patience = served
    assert models == (["first", "second=en-de"], "ctranslate2", 2, False)
    assert app == (["127.0.0.1", "localhost"], ()) and patience == 300


def test_other_addresses_are_warned_of(run, served):
    assert run("serve", "--host", "localhost", "--port", "0")[2] == ""
    served.clear()
    options = ["--host", "0.0.0.0", "--port", "0", "--allow-origin", "https://a.org"]
    code, printed, message = run("serve", *options)
    assert code == 0 and printed.startswith("http://0.0.0.0:")
    assert message.startswith("keraszoo: warning: whoever reaches http://0.0.0.0:")
    assert served[1] == (["*"], ["https://a.org"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no_such_model"], "error: no_such_model: no such directory"),
        (["english_words"], "error: english_words: expected a model for translation, tagging"),
        (["--host", "no such host"], "error: no such host, port 0: cannot be used: "),
        (["--engine", "ctranslate2", "--jit-compile"], "--jit-compile has no effect with --engine"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(refusal, arguments, said):
    assert said in refusal("serve", "--port", "0", *arguments)


def test_a_port_in_use_is_found_before_models_are_loaded(refusal, served):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        message = refusal("serve", "--port", other.getsockname()[1])
    assert "cannot be used: Address already in use" in message and not served


@pytest.mark.parametrize("command", ["serve", "playground"])
def test_without_its_packages(refusal, monkeypatch, command):
    for part in ("serving", "playground"):
        monkeypatch.delitem(sys.modules, f"keraszoo.{part}.app", raising=False)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert f"`keraszoo {command}` needs pip install 'keraszoo[{command}]'" in refusal(command)
