"""Picks the translations that several models together find best, from the n-best lists of one of them.

    keraszoo export tatoeba_en_de_transformer runs/int8 --format ctranslate2 --quantize int8
    keraszoo translate runs/int8 english.txt --engine ctranslate2 --n-best 10 --beam-width 10 > runs/n.jsonl
    python examples/rerank.py runs/n.jsonl tatoeba_en_de_rnnsearch --output runs/reranked.tsv

It is better than the first model alone: by 0.7 and 0.9 BLEU on Tatoeba (RESULTS.md). The pick y has the best
mean log-probability of its N subwords, `</s>` included, where p_0 is the first model:

    (log p_0(y | x) + weight sum_i log p_i(y | x)) / N

All models must have the same target subwords. Lines of the output are `source TAB translation`, as
`keraszoo train` and tatoeba_more.py read them.
"""

import argparse
import json
import sys
from typing import NamedTuple

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import numpy as np

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.text.lines import read_lines, write_lines

AT_A_TIME, BATCH = 12_800, 128


class NBest(NamedTuple):
    """The translations of one sentence, and the log-probability of each."""

    source: str
    texts: list
    log_probs: list


def read_n_best(file, hypotheses):
    """Yields the first few different translations of each sentence that has any."""
    for line in read_lines(file):
        found, texts = json.loads(line), {}
        for one in found["hypotheses"]:
            if one["text"].strip() and len(texts) < hypotheses:
                texts.setdefault(one["text"], one["log_prob"])
        if texts:
            yield NBest(found["source"], list(texts), list(texts.values()))


def rerank(lists, translators, weight):
    """Returns the best translation of each sentence; see the module."""
    sources = [one.source for one in lists for _ in one.texts]
    texts = [text for one in lists for text in one.texts]
    scores = np.array([log_prob for one in lists for log_prob in one.log_probs])
    lengths = np.array([1 + len(ids) for ids in translators[0].target_subwords.encode(texts)])
    order = np.lexsort((lengths, [len(source) for source in sources]))
    for translator in translators:
        for start in range(0, len(order), AT_A_TIME):
            part = order[start : start + AT_A_TIME]
            pairs = [sources[i] for i in part], [texts[i] for i in part]
            scores[part] += weight * np.array(translator.score(*pairs, batch_size=BATCH))
    ends = np.cumsum([len(one.texts) for one in lists])[:-1]
    best = [part.argmax() for part in np.split(scores / lengths, ends)]
    return [one.texts[i] for one, i in zip(lists, best, strict=True)]


def main(n_best, models, output, hypotheses, weight):
    """Writes the best translations, and prints how many were first before."""
    translators = [Translator.from_preset(name) for name in models]
    if any(other.target_subwords != translators[0].target_subwords for other in translators):
        raise KerasZooError("expected models with the same target subwords")
    lists = list(read_n_best(n_best, hypotheses))
    best = rerank(lists, translators, weight)
    write_lines(output, (f"{one.source}\t{text}" for one, text in zip(lists, best, strict=True)))
    first = sum(one.texts[0] == text for one, text in zip(lists, best, strict=True))
    print(f"{output}: {len(lists):,} sentences, {first:,} of them with the translation that was first before")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n_best", help="JSON lines of `keraszoo translate --n-best`")
    parser.add_argument("models", nargs="+", help="names or directories of other translators")
    parser.add_argument("--output", required=True, help="where to write")
    parser.add_argument("--hypotheses", type=int, default=10, help="translations of a sentence at most (10)")
    parser.add_argument("--weight", type=float, default=0.5, help="weight of each other model (0.5)")
    try:
        main(**vars(parser.parse_args()))
    except KerasZooError as error:
        sys.exit(f"rerank.py: {error}")
