"""CPU seconds of single calls after the first one: no call should wait for tracing or for a compiler.

    python benchmarks/single_calls.py english.txt              # a sentence per line
    python benchmarks/single_calls.py english.txt --warm-up    # with XLA's programs

Prints for each task the seconds of the first call, the median of the calls after it, the ten slowest with
their place and their words, and the ratio of the slowest to the median. Wall time depends on other work on
the machine, so all figures are CPU seconds of the process, all threads together.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def tagger(warm_up):
    """Tags one text."""
    from keraszoo import EntityTagger

    tagger = EntityTagger.from_preset("english_entities")
    if warm_up:
        tagger.warm_up()
    return tagger.tag


def translator(warm_up):
    """Translates one sentence."""
    from keraszoo import Translator

    translator = Translator.from_preset("tatoeba_en_de_transformer")
    if warm_up:
        translator.warm_up()
    return lambda text: translator.translate([text])


LOADERS = {"tagger": tagger, "translator": translator}


def measure(task, function, lines, calls):
    """Prints the table of one task."""
    seconds = []
    for number in range(calls + 1):
        before = time.process_time()
        function(lines[number % len(lines)])
        seconds.append(time.process_time() - before)
    first, *rest = seconds
    median = statistics.median(rest)
    print(f"{task}: first call {first:.2f} s, median of {calls} {1000 * median:.2f} ms, ", end="")
    print(f"mean {1000 * statistics.mean(rest):.2f} ms, slowest / median {max(rest) / median:.1f}")
    for number in sorted(range(calls), key=rest.__getitem__, reverse=True)[:10]:
        words = len(lines[(number + 1) % len(lines)].split())
        print(f"    call {number + 1}: {1000 * rest[number]:.1f} ms, {words} words")


def main():
    """Runs both tasks, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="a sentence per line")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--warm-up", action="store_true")
    parser.add_argument("--tasks", nargs="+", choices=[*LOADERS], default=[*LOADERS])
    options = parser.parse_args()
    lines = [line for line in options.text.read_text("utf-8").splitlines() if line.strip()]
    for task in options.tasks:
        before = time.process_time()
        function = LOADERS[task](options.warm_up)
        print(f"{task}: loaded in {time.process_time() - before:.1f} s", flush=True)
        measure(task, function, lines, options.calls)


if __name__ == "__main__":
    main()
