"""Marian models against the numbers that Transformers 5.23.0 computed, where they are at hand."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from keraszoo import Translator
from keraszoo.converters import marian
from keraszoo.errors import NoTargetLanguage
from keraszoo.saving.entries import checked
from keraszoo.search import SearchOptions
from keraszoo.text.corpus import SpecialIds
from keraszoo.translation.compiled_search import CompiledSearch

FOLDER = Path(__file__).parents[2].resolve().parent.joinpath("shared", "parity")
PAD, END = 49, 0  # of the arrays; the directory has other ids
LIMIT = 20  # tokens of each translation, of which the last is a forced `</s>`

pytestmark = pytest.mark.skipif(
    not (FOLDER / "marian_tiny.npz").exists(), reason="the numbers are not part of this repository"
)


@pytest.fixture(scope="module", params=["marian_tiny", "marian_tiny_relu"])
def numbers(request):
    return dict(np.load(FOLDER / f"{request.param}.npz"))


@pytest.fixture(scope="module")
def model(numbers, tmp_path_factory):
    path = tmp_path_factory.mktemp("marian") / "model.safetensors"
    weights = {name.removeprefix("weights/"): x for name, x in numbers.items() if name.startswith("weights/")}
    safetensors.numpy.save_file(weights, path)
    entries = {"model_type": "marian", **json.loads(str(numbers["config_json"]))}
    config = checked(marian.Config, entries, "config_json")
    return marian.read_model(path, config, PAD, PAD)


@pytest.fixture(scope="module")
def run(model):
    return CompiledSearch(model, SpecialIds(PAD, PAD, END), SpecialIds(PAD, PAD, END))


@pytest.mark.parametrize("case", ["padded", "full"])
def test_logits_and_attention_weights(numbers, model, case):
    source, target_in = numbers[f"{case}/input_ids"], numbers[f"{case}/decoder_input_ids"]
    logits, weights = model((source, target_in), return_attention_weights=True)
    theirs = numbers[f"{case}/cross_attentions_1"].mean(axis=1)
    lengths = numbers.get(f"{case}/target_lengths", np.full(len(target_in), target_in.shape[1]))
    for i, length in enumerate(lengths):
        real = slice(int(length))
        np.testing.assert_allclose(logits[i, real], numbers[f"{case}/logits"][i, real], atol=1e-4)
        np.testing.assert_allclose(weights[i, real], theirs[i, real], atol=1e-5)


@pytest.mark.parametrize("case", ["padded", "full"])
def test_greedy_and_beam_search(numbers, run, case):
    """Where theirs is cut at the limit, `beam4_unforced` is compared: a forced `</s>` costs them nothing."""
    source = numbers[f"{case}/input_ids"]
    greedy = run(source, SearchOptions(beam_width=1, max_length=LIMIT))
    for row, ours in zip(numbers[f"{case}/greedy_unforced/sequences"][:, 1:], greedy.tokens, strict=True):
        row = row[row != PAD]
        assert ours[0, : len(row)].tolist() == row.tolist()
    best = run(source, SearchOptions(beam_width=4, num_hypotheses=4, max_length=LIMIT))
    for i in range(len(source)):
        rows = slice(4 * i, 4 * i + 4)
        name, count = "beam4_never", 4
        if (numbers[f"{case}/{name}/sequences"][rows, LIMIT:] != PAD).any():
            name, count = "beam4_unforced", 1
        for k in range(count):
            row = numbers[f"{case}/{name}/sequences"][rows][k, 1:]
            row = row[row != PAD]
            assert best.tokens[i, k, : best.lengths[i, k]].tolist() == row.tolist()
            score = numbers[f"{case}/{name}/sequences_scores"][rows][k]
            assert best.score[i, k] == pytest.approx(score, abs=1e-5)


@pytest.fixture(scope="module")
def expected():
    return json.loads((FOLDER / "marian_tiny_directory_expected.json").read_text())


@pytest.fixture(scope="module")
def translator():
    return Translator.from_preset(FOLDER / "marian_tiny_directory")


def test_ids_of_texts(expected, translator):
    named = [">>deu<<I WII win.", ">>xyz<< This is a test."]  # names of languages are tested below
    symbols = "She said </s> and <unk> and <pad>."  # which text never gives here
    for one in expected["sentences"]:
        if one["text"] in (*named, symbols):
            continue
        text = one["text"]
        ids = [*translator.source_subwords.encode([text])[0], END]
        if "\u2019" in text:  # a typographic apostrophe, unknown to them, is read as a plain one
            place = one["input_ids"].index(1)
            assert translator.source_subwords.pieces([ids[place]]) == ["'"]
            ids[place] = 1
        assert ids == one["input_ids"]
    for one in expected["targets"]:
        ids = [*translator.target_subwords.encode([one["text"]])[0], END]
        assert ids == one["labels"]
        assert translator.target_subwords.decode([ids]) == [one["decoded"]]


@pytest.mark.slow
def test_translations_of_their_ids(expected, translator):
    """With room for one token less than theirs, of which the last is a forced `</s>`."""
    pad_id = translator.target_subwords.pad_id
    sentences = [one for one in expected["sentences"] if pad_id not in one["input_ids"]]  # ours masks it
    source = translator.compiled_search.pad([one["input_ids"][:-1] for one in sentences])
    for width, name in ((1, "greedy"), (4, "beam")):
        options = SearchOptions(beam_width=width, max_length=LIMIT - 1)
        best = translator.compiled_search(source, options)
        for i, one in enumerate(sentences):
            ids = one[f"{name}_ids"][1:]
            length = min(len(ids), LIMIT - 1)
            assert best.tokens[i, 0, :length].tolist() == ids[:length]
            assert translator.target_subwords.decode([ids])[0].strip() == one[f"{name}_text"]
            if width > 1:
                assert best.log_prob[i, 0] / len(ids) == pytest.approx(one["beam_score"], abs=1e-5)


@pytest.mark.filterwarnings("ignore::keraszoo.errors.UnknownCharacters")
def test_the_target_language_begins_a_text(expected, translator):
    by_text = {one["text"]: one for one in expected["sentences"]}
    assert translator.target_languages == ["deu", "fra"]
    theirs = [by_text[text]["beam_text"] for text in (">>deu<< I like music.", ">>deu<<I WII win.")]
    assert translator.translate([">>deu<< I like music.", ">>deu<<I WII win."], max_length=19) == theirs
    texts = ["I like music.", "I WII win."]
    assert translator.translate(texts, max_length=19, target_language="deu") == theirs
    with pytest.warns(NoTargetLanguage, match="text 1 names no target language"):
        plain = translator.translate(["Tom is happy."], max_length=19)
    assert plain == [by_text["Tom is happy."]["beam_text"]]


def texts_of(expected):
    """The texts that name no unknown language and are not blank."""
    return [text for one in expected["sentences"] if (text := one["text"].strip()) and ">>xyz<<" not in text]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["ctranslate2", "onnx", "savedmodel"])
@pytest.mark.filterwarnings("ignore::keraszoo.errors.InputWarning")
def test_exports_translate_alike(expected, translator, tmp_path, format):
    pytest.importorskip({"onnx": "tf2onnx"}.get(format, format.replace("savedmodel", "tensorflow")))
    texts = [text for text in texts_of(expected) if not text.startswith(">>deu<<I")]  # it has no blank
    translator.search = translator.search.replace(max_length=19)
    options = {"jit_compile": False} if format == "savedmodel" else {}
    translator.export(tmp_path / "exported", format=format, **options)
    assert translator.verify_export(tmp_path / "exported", texts) == len(texts)
    if format == "ctranslate2":
        engine = Translator.from_preset(tmp_path / "exported", engine="ctranslate2")
        assert engine.translate(texts) == translator.translate(texts)
        engine = Translator.from_preset(FOLDER / "marian_tiny_directory", engine="ctranslate2")
        assert engine.translate(texts, max_length=19) == translator.translate(texts)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::keraszoo.errors.InputWarning")
@pytest.mark.parametrize("rank", [None, 2])
def test_fine_tuning_and_int8(expected, tmp_path, rank):
    translator = Translator.from_preset(FOLDER / "marian_tiny_directory")
    if rank:
        translator.model.enable_lora(rank)
    pairs = [(text, "Tom ist nicht hier.") for text in texts_of(expected)]
    optimizer = {"schedule": "constant", "learning_rate": 1e-2}
    translator.fit(pairs, epochs=40, optimizer=optimizer, verbose=0)
    sources, targets = map(list, zip(*pairs, strict=True))
    assert translator.translate(sources, beam_width=1, max_length=19) == targets
    translator.save_to_preset(tmp_path / "tuned")
    tuned = Translator.from_preset(tmp_path / "tuned")
    assert tuned.score(sources, targets) == pytest.approx(translator.score(sources, targets), abs=1e-4)
    tuned.model.quantize("int8")
    tuned.save_to_preset(tmp_path / "int8")
    again = Translator.from_preset(tmp_path / "int8")
    assert again.translate(sources, beam_width=1, max_length=19) == targets
