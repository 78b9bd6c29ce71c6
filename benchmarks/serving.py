"""Requests per second of `keraszoo serve`, by the number of clients that ask at the same time.

    python benchmarks/serving.py tatoeba_en_de_transformer english.txt     # a sentence per line
    python benchmarks/serving.py tatoeba_en_de_transformer english.txt --options "--engine ctranslate2"
    python benchmarks/serving.py english_entities english.txt --path tag

Each client sends one sentence, waits for the answer, and sends the next. The clients of one row share the
given number of requests. Prints for each number of clients the requests per second, the CPU seconds of the
server per 100 requests, and the median and the 99th percentile of the seconds until an answer. Clients and
server share the machine.
"""

import argparse
import http.client
import json
import os
import shlex
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process):
    """The CPU seconds that a process has used, all threads together (Linux)."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(port, path, bodies, clients):
    """Lets clients send bodies; returns the seconds of each request."""
    waiting, seconds = iter(bodies), []
    lock = threading.Lock()

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            with lock:
                body = next(waiting, None)
            if body is None:
                return
            before = time.perf_counter()
            connection.request("POST", f"/{path}", body, {"content-type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                raise SystemExit(f"{response.status}: {answer.decode()}")
            seconds.append(time.perf_counter() - before)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds


def main():
    """Starts the server and prints a row for each number of clients."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("text", type=Path, help="a sentence per line")
    parser.add_argument("--path", choices=["translate", "tag"], default="translate")
    parser.add_argument("--languages", nargs=2, default=["en", "de"])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--requests", type=int, default=640)
    parser.add_argument("--options", default="", help="of `keraszoo serve`, in one string")
    given = parser.parse_args()
    lines = [line for line in given.text.read_text("utf-8").splitlines() if line.strip()][: given.requests]
    source, target = given.languages
    fields = {"translate": lambda line: {"q": line, "source": source, "target": target}}
    fields["tag"] = lambda line: {"text": line}
    bodies = [json.dumps(fields[given.path](line)).encode() for line in lines]
    command = [sys.executable, "-m", "keraszoo", "serve", given.model, "--port", "0"]
    with subprocess.Popen(
        [*command, *shlex.split(given.options)], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            port = int(server.stdout.readline().strip(" \n/").rpartition(":")[2])
            for clients in given.clients:
                cpu, before = cpu_seconds(server), time.perf_counter()
                seconds = sorted(measure(port, given.path, bodies, clients))
                rate, cpu = len(bodies) / (time.perf_counter() - before), cpu_seconds(server) - cpu
                print(
                    f"{clients} clients: {rate:.0f} requests/s, {100 * cpu / len(bodies):.2f} CPU s per 100, "
                    f"median {1000 * statistics.median(seconds):.0f} ms, "
                    f"99 % within {1000 * seconds[int(0.99 * len(seconds))]:.0f} ms",
                    flush=True,
                )
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
