# %% [markdown]
# # Export and serve
#
# A trained model becomes a SavedModel: one folder with vocabulary, weights and search, which maps strings to strings. It runs wherever TensorFlow runs,
# without Keras and without keraszoo. This tutorial exports an included translator and a tagger, checks them, and answers requests from a small
# web server.

# %% [markdown]
# ## Export
#
# `--verify` translates the lines of a file twice, once in Python and once with the SavedModel in a new process, and fails at the first difference.

# %%
from pathlib import Path

sentences = ["Where did you park the car?", "She has never been to Berlin.", "I would like a cup of tea."]
_ = Path("sentences.txt").write_text("\n".join(sentences) + "\n")

# %% language="bash"
# keraszoo export tatoeba_en_de_rnnsearch translator --verify sentences.txt 2>&1
# ls translator

# %% [markdown]
# In Python it is `translator.export("folder")`, and `translator.verify_export("folder", sentences)`.
#
# ## Load it without keraszoo
#
# The next cell runs in a process of its own. It imports TensorFlow and TensorFlow Text, which registers the operations that split text into subwords.

# %%
client = """
import sys
import tensorflow as tf
import tensorflow_text

loaded = tf.saved_model.load("translator")
translate = loaded.signatures["translate"]
answer = translate(text=tf.constant(sys.argv[1:]))
for translation, log_prob in zip(answer["translation"].numpy(), answer["log_prob"].numpy()):
    print(f"{log_prob:7.3f}  {translation.decode()}")
print("keraszoo imported:", "keraszoo" in sys.modules)
"""
_ = Path("client.py").write_text(client)

# %% language="bash"
# python client.py "Where did you park the car?" "I would like a cup of tea."

# %% [markdown]
# The SavedModel has three signatures:
#
# | signature | gives |
# |---|---|
# | `translate` | the best translation and its log-probability |
# | `n_best` | all hypotheses of the beam |
# | `attention` | the translation with subwords and attention weights |
#
# ## A web server
#
# The standard library suffices for a server with one worker. It takes lines of text and returns lines of text. Many short requests are served best
# in batches: the request below sends all sentences at once. With several workers, each loads the model itself, after the fork: a forked copy lacks
# the threads of TensorFlow and would wait for them forever (gunicorn without `--preload`, `multiprocessing` with `spawn`).

# %%
server = """
import http.server
import tensorflow as tf
import tensorflow_text

translate = tf.saved_model.load("translator").signatures["translate"]
translate(text=tf.constant(["Hello."]))  # the first call traces the graph


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        size = min(int(self.headers["Content-Length"]), 100_000)
        lines = self.rfile.read(size).decode("utf-8").splitlines()
        answer = translate(text=tf.constant(lines))["translation"].numpy()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"\\n".join(answer))

    def log_message(self, *arguments):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
_ = Path("server.py").write_text(server)

# %%
import subprocess
import sys
import time
import urllib.request

process = subprocess.Popen(
    [sys.executable, "server.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
)
port = int(process.stdout.readline())


def ask(lines):
    """Sends lines to the server and returns the translated lines."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}", "\n".join(lines).encode())
    with urllib.request.urlopen(request) as response:
        return response.read().decode().splitlines()


ask(sentences)  # warm
begun = time.perf_counter()
answers = ask(sentences)
print(f"{len(answers)} sentences in {1000 * (time.perf_counter() - begun):.0f} ms", *answers, sep="\n")
process.terminate()
_ = process.wait()

# %% [markdown]
# For real traffic use TensorFlow Serving, which loads the same folder, can form batches itself, and is built with the operations of TensorFlow Text.
# For servers without them, the folder `ids/` has a second SavedModel that maps ids to ids.
#
# ## A tagger
#
# The signature `entities` returns the entities of all texts in one row each, and `count`, the number of entities per text.

# %%
import tensorflow as tf
import tensorflow_text  # noqa: F401

from keraszoo import EntityTagger

tf.get_logger().setLevel("WARNING")  # in notebooks TensorFlow prints a line for each folder that it writes
EntityTagger.from_preset("english_entities").export("tagger")

# %%
entities = tf.saved_model.load("tagger").signatures["entities"]
outputs = entities(text=tf.constant(["Marie Curie lived in Paris.", "Nobody was there."]))
print("count", outputs["count"].numpy())
for text, label, start, end in zip(*(outputs[key].numpy() for key in ("text", "label", "start", "end")), strict=True):  # fmt: skip
    print(text.decode(), label.decode(), start, end)

# %% [markdown]
# ## Exercises
#
# 1. Use the signature `n_best` in `client.py`, and print three hypotheses per sentence with their probabilities.
# 2. Export with `--jit-compile`, by which XLA compiles the search of small batches, and compare the time of one sentence after 20 calls.
# 3. Send an empty line and a line of 100,000 characters to the server. What happens, and what should a server answer?

# %%
import os

translated = sum(bool(answer) for answer in answers)
print(
    f"{translated} of {len(sentences)} sentences served; this page took {sum(os.times()[:4]):.0f} CPU seconds"
)

# %% tags=["remove-cell"]
assert answers[0] == "Wo hast du das Auto geparkt?" and outputs["count"].numpy().tolist() == [2, 0]
