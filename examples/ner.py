"""Trains a tagger on tagged sentences, exports it as a SavedModel and highlights the entities of a text.

    python examples/ner.py runs/ner        # on small generated sentences: half a minute
    python examples/ner.py runs/ner train.tsv devel.tsv test.tsv [vectors] [model=attention epochs=30 ...]

The files have one word and its tag per line, and a blank line after each sentence. Vectors are a word2vec,
GloVe or fastText file; without one, `keraszoo.text.vector_training` trains vectors on the training sentences.
The last arguments are settings of the training, or `model`, `configuration` and `units`: if one of these is
given, those of the script are not used. In the generated sentences all names are found; RESULTS.md has scores
on real corpora. `keraszoo train` does the same from examples/recipes/tagging.yaml.
"""

import itertools
import random
import sys

import yaml

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras

from keraszoo import EntityTagger
from keraszoo.plots import html_page, save_html
from keraszoo.text.columns import read_columns
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.vector_training import train_vectors
from keraszoo.text.word_vectors import WordVectors


def main(output, corpora, vectors, settings):
    """Trains, scores, saves and exports a tagger, and draws its attention."""
    keras.utils.set_random_seed(settings.get("seed", 1))
    train, validation, test = map(read_columns, corpora) if corpora else made_up()
    if vectors is None:
        vectors, report = train_vectors((s.tokens for s in train), width=50, min_count=1, window=2)
        print(report)
    else:
        # Read only the vectors that a word of the corpora can use.
        tokens = {token for s in itertools.chain(train, validation, test) for token in s.tokens}
        vectors = WordVectors.read(vectors, words=tokens)
        print(vectors.coverage(list(train)))

    # This model has attention weights to draw; `model=recurrent configuration=strong` scores higher.
    model = {"model": "attention", "configuration": "bidirectional", "units": 64}
    given = {name: settings.pop(name) for name in list(settings) if name in model}
    tagger = EntityTagger.for_sentences(train, vectors, keep="all", **(given or model))
    print(f"{tagger.model.count_params():,} parameters, tags {', '.join(tagger.vocabulary.tags)}")

    # Saves the tagger whenever its F1 on the validation sentences is the best so far.
    fit = {"epochs": 12, "batch_tokens": 512, "optimizer": {"learning_rate": 0.005}, **settings}
    tagger.fit(train, validation, f"{output}/model", **fit)
    print(tagger.evaluate(test, known=train))

    texts = [" ".join(sentence.tokens) for sentence in test][:3]
    tagger.export(f"{output}/saved_model")
    count = tagger.verify_export(f"{output}/saved_model", texts)
    print(f"{output}/saved_model: tags {count} texts exactly as in Python")

    results = tagger.tag_details(texts)
    for entity in results[0].entities:
        print(f"{entity.start:4}-{entity.end:<4} {entity.label:10} {entity.probability:.3f}  {entity.text}")
    save_html(html_page(results, attention=tagger.model.attends), f"{output}/entities.html")
    if tagger.model.attends:
        sentence = results[0].text[: results[0].tokens[results[0].sentences[0][1] - 1].end]
        tagger.tag_details([sentence])[0].plot(f"{output}/attention.png")
        print(f"{output}/attention.png shows the attention weights of the first sentence")
    print(f"{output}/entities.html highlights the entities")


PEOPLE = [
    "Ada Lovelace",
    "Grace Hopper",
    "Alan Turing",
    "Emmy Noether",
    "Kurt Gödel",
    "Hedy Lamarr",
    "Alonzo Church",
]
PLACES = ["Paris", "New York", "Göttingen", "Princeton", "Bletchley Park", "Buenos Aires", "Oslo"]
TEMPLATES = [
    "{PER} moved from {LOC} to {LOC} .",
    "In {LOC} , {PER} met {PER} again .",
    "Nobody in {LOC} had heard of {PER} .",
    "The weather was fine , and {PER} walked home .",
    "They wrote letters to each other for years .",
    "{LOC} is far from {LOC} .",
]


def made_up(count=400, seed=1):
    """Generates sentences about people and places, for training, validation and test."""
    draw = random.Random(seed)
    sentences = []
    for _ in range(count + 100):
        tokens, tags = [], []
        for word in draw.choice(TEMPLATES).split():
            label = word.strip("{}") if word.startswith("{") else None
            words = [word] if label is None else draw.choice(PEOPLE if label == "PER" else PLACES).split()
            tokens += words
            tags += ["O"] if label is None else [f"B-{label}"] + [f"I-{label}"] * (len(words) - 1)
        sentences.append(TaggedSentence(tuple(tokens), tuple(tags)))
    return sentences[:count], sentences[count : count + 50], sentences[count + 50 :]


if __name__ == "__main__":
    files = [argument for argument in sys.argv[1:] if "=" not in argument]
    options = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
    if len(files) not in (1, 4, 5) or files[0].startswith("-"):
        sys.exit(__doc__)
    main(
        files[0],
        files[1:4],
        files[4] if len(files) == 5 else None,
        {name: yaml.safe_load(value) for name, value in options.items()},
    )
