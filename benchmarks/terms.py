"""The cost of terms, and what they change: speed, BLEU, and how many translations contain them.

    python experiments/tatoeba.py prepare en-de.tsv.gz runs/tatoeba_en_de
    python benchmarks/terms.py tatoeba_en_de_transformer runs/tatoeba_en_de/test.tsv

The terms of a sentence are words of its reference, drawn by `--seed`: 1, 2 and 4 of those with at least four
letters. Only sentences with four such words are translated. A row states how many of the drawn words a
translation contains as text, without terms (what the model writes anyway) and with them. CPU seconds are
those of the process, all threads together, after a first call that traces the graphs.
"""

import argparse
import os
import random
import re
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

MOST = 4


def drawn_terms(pairs, subwords, seed):
    """Pairs with enough words, and for each a list of `MOST` (source word, word of the reference)."""
    draw, kept = random.Random(seed), []
    for source, target in pairs:
        sides = [list(dict.fromkeys(re.findall(r"\w+", text))) for text in (source, target)]
        long = [word for word in sides[1] if len(word) >= 4 and not subwords.unknown(word)]
        if min(len(sides[0]), len(long)) >= MOST:
            words = draw.sample(long, MOST), draw.sample(sides[0], MOST)
            kept.append((source, target, list(zip(words[1], words[0], strict=True))))
    return kept


def main():
    """Prints a row for greedy search, for a beam without terms, and for 1, 2 and 4 terms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("pairs", help="lines `source TAB target`")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    from keraszoo import Translator
    from keraszoo.evaluation.translation import score_translations
    from keraszoo.text.parallel import read_pairs

    translator = Translator.from_preset(options.model)
    chosen = drawn_terms(read_pairs(options.pairs), translator.target_subwords, options.seed)
    sources, references, words = map(list, zip(*chosen[: options.sentences], strict=True))
    print(f"{options.model}: {len(sources)} sentences")
    print("| search | terms | sentences per CPU second | BLEU | chrF2 | of the words in the translation |")
    print("|---|---|---|---|---|---|")
    rows = [(1, 0), *((beam, count) for beam in options.beams for count in (0, 1, 2, MOST))]
    for beam, count in rows:
        terms = [dict(some[:count]) for some in words] if count else None
        arguments = {"beam_width": beam, "terms": terms}
        translator.translate(sources[:1], beam_width=beam, terms=terms and terms[:1])
        before = time.process_time()
        translations = translator.translate(sources, **arguments)
        seconds = time.process_time() - before
        scores = score_translations(translations, references)
        shares = []
        for number in [count] if count else (1, 2, MOST):
            pairs = zip(translations, words, strict=True)
            found = [word in text for text, some in pairs for _, word in some[:number]]
            shares.append(f"{100 * sum(found) / len(found):.1f} %")
        search = "greedy" if beam == 1 else f"beam {beam}"
        print(
            f"| {search} | {count} | {len(sources) / seconds:.0f} | {scores.bleu.score:.1f} | "
            f"{scores.chrf.score:.1f} | {', '.join(shares)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
