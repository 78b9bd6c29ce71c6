"""Serves an exported translator over HTTP with the standard library: lines of text in, translations out.

    keraszoo export tatoeba_en_de_transformer runs/translator
    python examples/serving.py runs/translator 8000
    curl --data 'Where did you park the car?' http://127.0.0.1:8000

The server needs TensorFlow and TensorFlow Text, not keraszoo. It has one worker, which answers one request at
a time; a request of many lines is translated as a batch. Behind a server with several workers, each worker
loads the model itself, after the fork.
"""

import http.server
import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401 - registers the operations that split text into subwords

LARGEST = 100_000  # bytes of a request


def handler_of(directory):
    """Returns a class of handlers that translate with the SavedModel in `directory`."""
    translate = tf.saved_model.load(directory).signatures["translate"]
    translate(text=tf.constant(["Hello."]))  # the first call traces the graph

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            size = self.headers.get("Content-Length", "")
            if not size.isdigit() or int(size) > LARGEST:
                self.send_error(413, f"expected a Content-Length of at most {LARGEST:,} bytes")
                return
            lines = self.rfile.read(int(size)).decode("utf-8", "replace").splitlines()
            answer = translate(text=tf.constant(lines, tf.string))["translation"].numpy() if lines else []
            body = b"".join(line + b"\n" for line in answer)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def main(directory, port):
    """Serves until Ctrl-C."""
    with http.server.HTTPServer(("127.0.0.1", int(port)), handler_of(directory)) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
