"""Figures of docs/documents.md: sentence ends, which attention places tags, what keeps placeholders.

    python benchmarks/markup.py [MODEL ...]

The other splitters of sentences are compared if they are installed: `pip install pysbd syntok blingfire`.
The gold is in tests/translation/data.
"""

import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[1] / "tests" / "translation" / "data"
MODELS = ("tatoeba_en_de_rnnsearch", "tatoeba_en_de_transformer")
CHOSEN_BY = 50  # sentences of the gold by which the method was chosen; the others came later


def lines(file):
    """The lines of a file of the gold."""
    return [line for line in (DATA / file).read_text().splitlines() if not line.startswith("#")]


def splitters():
    """Functions from (text, language) to sentences, by name."""
    from keraszoo.text.sentence_ends import sentence_spans
    from keraszoo.text.tokens import split_sentences

    found = {
        "sentencex": lambda text, language: [text[a:b] for a, b in sentence_spans(text, language)],
        "split_sentences": lambda text, language: [sentence.text for sentence in split_sentences(text)],
    }
    try:
        import pysbd

        segmenters = {code: pysbd.Segmenter(language=code, clean=False) for code in ("en", "de", "fr")}
        found["pysbd"] = lambda text, language: segmenters[language].segment(text)
    except ImportError:
        pass
    try:
        import blingfire

        found["blingfire"] = lambda text, language: blingfire.text_to_sentences(text).split("\n")
    except ImportError:
        pass
    try:
        from syntok.segmenter import split
        from syntok.tokenizer import Tokenizer

        def by_syntok(text, language):
            sentences = [list(sentence) for sentence in split(iter(Tokenizer().tokenize(text)))]
            return [text[s[0].offset : s[-1].offset + len(s[-1].value)] for s in sentences]

        found["syntok"] = by_syntok
    except ImportError:
        pass
    return found


def sentence_ends():
    """Prints how many texts of the gold each splitter splits right, and the time for a long text."""
    rows = [line.split("\t") for line in lines("sentences.txt")]
    rows = [(language, [one.strip() for one in text.split("\u00a6")]) for language, text in rows]
    counts = {code: sum(language == code for language, _ in rows) for code in ("en", "de", "fr")}
    long = " ".join(one for language, gold in rows if language == "en" for one in gold) * 20
    print("texts", counts)
    for name, split in splitters().items():
        right = dict.fromkeys(counts, 0)
        for language, gold in rows:
            found = [sentence.strip() for sentence in split(" ".join(gold), language)]
            right[language] += [sentence for sentence in found if sentence] == gold
        start = time.process_time()
        split(long, "en")
        seconds = time.process_time() - start
        print(f"{name:16} {right} {sum(right.values())}; {len(long):,} characters in {seconds:.3f} s")


def tags(name, translator):
    """Prints how many tags of the gold the weights of each layer and head place right."""
    from keraszoo.text.markup import parse
    from keraszoo.translation import projection

    column = 1 + MODELS.index(name)
    rows = [line.split("\t") for line in lines("tags.tsv")]
    sources = [parse(row[0], "html") for row in rows]
    answers = [row[column].split("\u00a6") for row in rows]
    texts = [source.text for source in sources]
    translations = translator.translate(texts)
    same = [one == re.sub("<[^>]*>", "", right[0]) for one, right in zip(translations, answers, strict=True)]
    print(f"{name}: {sum(same)} of {len(rows)} translations are those of the gold")
    encoded = [
        [[*subwords.pieces(row), "</s>"] for row in subwords.encode(side)]
        for subwords, side in (
            (translator.source_subwords, texts),
            (translator.target_subwords, translations),
        )
    ]
    heads = translator.align(texts, translations, heads=True)
    layers = heads[0].shape[0]
    choices = {
        f"layer {i + 1} of {layers}, mean of heads": [one[i].mean(axis=0) for one in heads]
        for i in range(layers)
    }
    choices["all layers, mean"] = [one.mean(axis=(0, 1)) for one in heads]
    for i in range(layers if heads[0].shape[1] > 1 else 0):
        choices |= {
            f"layer {i + 1}, head {h + 1}": [one[i, h] for one in heads] for h in range(heads[0].shape[1])
        }
    for choice, weights in choices.items():
        right = []
        for source, translation, answer, *parts in zip(
            sources, translations, answers, *encoded, weights, strict=True
        ):
            words = projection.WordWeights(source.text, translation, *parts)
            ((start, end),) = projection.project(words, [(*source.tags[0][:2], -1)], [(False, False)])
            found = f"{translation[:start]}<b>{translation[start:end]}</b>{translation[end:]}"
            right.append(found in answer)
        first, rest = sum(right[:CHOSEN_BY]), sum(right[CHOSEN_BY:])
        print(f"  {choice:32} {first} of {CHOSEN_BY}, {rest} of {len(right) - CHOSEN_BY} others")


def copied(translator):
    """Prints how often each layer attends most to the name that it copies: a check without gold."""
    from keraszoo.text.protected import protected
    from keraszoo.translation.projection import owners
    from keraszoo.translation.stand_ins import found_stand_ins, with_stand_ins

    counts, total = 0, 0
    for text in lines("placeholders.txt"):
        regions = protected(text)
        changed = with_stand_ins(text, regions, 1)
        (translation,) = translator.translate([changed.text])
        places = found_stand_ins(translation, changed, regions)
        (heads,) = translator.align([changed.text], [translation], heads=True)
        sides = (changed.text, translator.source_subwords), (translation, translator.target_subwords)
        of_source, of_target = (owners(side, words.pieces(words.encode([side])[0])) for side, words in sides)
        for (a, b), (start, end) in zip(changed.places, places or [], strict=False):
            wanted = set(of_source[a:b].tolist())
            for row in set(of_target[start:end].tolist()):
                total += 1
                counts = counts + np.array(
                    [layer.mean(axis=0)[row, :-1].argmax() in wanted for layer in heads]
                )
    print(f"  copied subwords that attend most to their source, by layer: {counts} of {total}")


def placeholders(name, translator):
    """Prints how many placeholders come out once: as they are, and by which stand-ins."""
    from keraszoo.text.protected import protected
    from keraszoo.translation.stand_ins import ROUNDS, found_stand_ins, with_stand_ins

    texts = lines("placeholders.txt")
    regions = [protected(text) for text in texts]
    plain = translator.translate(texts)
    count = sum(map(len, regions))
    once = sum(
        one.count(region.output) == 1 for one, some in zip(plain, regions, strict=True) for region in some
    )
    print(f"{name}: {once} of {count} placeholders come out once if the model reads them")
    left = list(zip(texts, regions, strict=True))
    for number in range(ROUNDS):
        changed = [with_stand_ins(*one, number) for one in left]
        found = translator.translate([one.text for one in changed])
        failed = [
            one
            for one, before, after in zip(left, changed, found, strict=True)
            if found_stand_ins(after, before, one[1]) is None
        ]
        print(f"  stand-ins {number + 1}: {len(left) - len(failed)} of {len(left)} sentences have each once")
        left = failed
    print(f"  split at the placeholder: {len(left)}")


def main(models):
    """Prints everything."""
    from keraszoo import Translator

    warnings.simplefilter("ignore")
    sentence_ends()
    for name in models or MODELS:
        translator = Translator.from_preset(name)
        if name in MODELS:
            tags(name, translator)
        copied(translator)
        placeholders(name, translator)


if __name__ == "__main__":
    main(sys.argv[1:])
