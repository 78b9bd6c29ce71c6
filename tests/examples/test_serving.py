"""The server of an exported translator answers lines with lines, and refuses requests that are too large."""

import http.client
import http.server
import threading

import pytest
import serving


@pytest.fixture(scope="module")
def port(exported_translator):
    server = http.server.HTTPServer(("127.0.0.1", 0), serving.handler_of(str(exported_translator)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def ask(port, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/", body.encode())
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.mark.slow
def test_each_line_gets_its_translation_and_too_large_a_request_is_refused(port, trained):
    sentences = ["one two three four", "six five four three"]
    expected = "".join(f"{line}\n" for line in trained.translate(sentences))
    assert ask(port, "\n".join(sentences)) == (200, expected)
    assert ask(port, "") == (200, "")
    assert ask(port, "one " * serving.LARGEST)[0] == 413
