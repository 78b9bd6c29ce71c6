"""What minimum Bayes risk gains: BLEU, chrF2 and speed of candidates of a beam and of samples.

    python experiments/tatoeba.py prepare en-de.tsv.gz runs/tatoeba_en_de
    python experiments/tatoeba.py reverse runs/tatoeba_en_de runs/tatoeba_de_en
    python benchmarks/mbr.py tatoeba_en_de_transformer runs/tatoeba_en_de/test.tsv
    python benchmarks/mbr.py tatoeba_de_en_transformer runs/tatoeba_de_en/test.tsv

CPU seconds are those of the process, all threads together, after a first call that traces the graphs.
"""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

MBR = {"decision": "mbr"}
ROWS = {
    "beam 5, most probable": {"beam_width": 5},
    "beam 5, MBR of 5": {"beam_width": 5, **MBR},
    "beam 20, most probable": {"beam_width": 20},
    "beam 20, MBR of 20": {"beam_width": 20, **MBR},
    "MBR of 32 samples": {"beam_width": 1, "sampling": True, "candidates": 32, **MBR},
}


def main():
    """Prints a row for each way to decide."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("pairs", help="lines `source TAB target`")
    parser.add_argument("--sentences", type=int, default=1000, help="as many, from all over the file")
    options = parser.parse_args()

    from keraszoo import Translator
    from keraszoo.evaluation.translation import score_translations
    from keraszoo.text.parallel import read_pairs

    translator = Translator.from_preset(options.model)
    pairs = list(read_pairs(options.pairs))
    pairs = pairs[:: max(1, len(pairs) // options.sentences)][: options.sentences]
    sources, references = map(list, zip(*pairs, strict=True))
    print(f"{options.model}: {len(sources)} sentences")
    print("| decision | BLEU | chrF2 | sentences per CPU second |")
    print("|---|---|---|---|")
    for name, arguments in ROWS.items():
        translator.translate(sources[:1], **arguments)
        before = time.process_time()
        translations = translator.translate(sources, **arguments)
        speed = len(sources) / (time.process_time() - before)
        scores = score_translations(translations, references)
        print(f"| {name} | {scores.bleu.score:.2f} | {scores.chrf.score:.2f} | {speed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
