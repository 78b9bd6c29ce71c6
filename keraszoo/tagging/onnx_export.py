"""A tagger for ONNX Runtime: raw text in, tags out, with only NumPy and onnxruntime.

docs/export.md lists the files, the inputs and the outputs. The graph contains the features that the model
reads, the CRF's Viterbi search and its marginals.
"""

import json
from pathlib import Path

from keraszoo.errors import import_extra
from keraszoo.tagging import onnx_program, onnx_subwords
from keraszoo.tagging.compiled_tagger import feature_specs, tag_features
from keraszoo.tagging.export import compare
from keraszoo.tasks.onnx_export import check_onnx, graph_of, write_onnx
from keraszoo.text.characters import UNSEEN
from keraszoo.text.tag_schemes import convert
from keraszoo.text.tagging_features import CASINGS
from keraszoo.text.tokens import SENTENCE, TOKEN_RULES

OUTPUTS = ("tags", "probability", "attention")


def export(tagger, directory):
    """Writes the directory; see `Task.export`. The model must be in float32."""
    check_onnx(tagger, directory)
    model, vocabulary = tagger.model, tagger.vocabulary
    outputs = OUTPUTS[: 2 + model.attends]
    about = {"features": model.features, "outputs": outputs, **tokens(vocabulary)}

    def tag(**features):
        return dict(zip(outputs, tag_features(model, features), strict=True))

    subwords = vocabulary.subwords
    files = {
        **({} if subwords is None else onnx_subwords.files(subwords)),
        "model.onnx": graph_of(model, tag, feature_specs(vocabulary, model.features)),
        "tokens.json": json.dumps(about, ensure_ascii=False).encode(),
        "tag.py": Path(onnx_program.__file__).read_bytes(),
    }
    write_onnx(directory, files, {"task": "tagging", "tags": list(vocabulary.tags)})


def tokens(vocabulary):
    """The contents of `tokens.json`: a `TaggingVocabulary` and the rules that split text."""
    match, part = TOKEN_RULES[vocabulary.token_rules]
    subwords = vocabulary.subwords
    tags, scheme = vocabulary.tags, vocabulary.scheme
    after = [[convert((before, tag), scheme, "IOB2")[1] for tag in tags] for before in tags]
    return {
        "sentence": SENTENCE,
        "token": match,
        "part": f"({part or '(?!)'})",
        "unseen": UNSEEN,
        "casings": list(CASINGS.values()),
        "backoff": vocabulary.backoff,
        "word_length": vocabulary.word_length,
        "subwords": None if subwords is None else onnx_subwords.entry(subwords),
        "words": {word: i for i, word in enumerate(vocabulary.words, start=2)},
        "characters": {character: i for i, character in enumerate(vocabulary.characters, start=2)},
        "iob2": [*after, [convert((tag,), scheme, "IOB2")[0] for tag in tags]],  # by the tag before
    }


def verify(tagger, directory, texts):
    """Tags texts with the program of an export and compares; see `Task.verify_export`."""
    import_extra("onnxruntime", "onnx")
    exported = onnx_program.Tagger(directory)
    names = ("tokens", "start", "end", *exported.outputs)
    pairs = zip(tagger.tag_details(texts), exported.tag(texts), strict=True)
    for number, (ours, words) in enumerate(pairs, start=1):
        columns = zip(*words, strict=True) if words else [()] * len(names)
        compare(f"{directory}: text {number}", ours, dict(zip(names, map(list, columns), strict=True)))
    return len(texts)
