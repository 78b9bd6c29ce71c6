"""CTranslate2 runs every kind of Transformer with the probabilities of the model."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.layers.quantization import exact_inputs
from keraszoo.translation.ctranslate2_translator import load

pytest.importorskip("ctranslate2")

TEXTS = ["one two three", "six", "five four one two three six one", "zwölf two"]
DOCS = Path(__file__).parents[2] / "docs" / "export.md"
VARIANTS = [
    {},
    {"use_bias": False, "pre_norm": True, "positions": "learned", "max_positions": 4},
    {"positions": "rotary", "tie_embeddings": "target", "num_decoder_layers": 1, "activation": "silu"},
    {"output_bias": True, "epsilon": 1e-3, "activation": "gelu", "num_decoder_layers": 1},
    {"positions": "relative", "max_distance": 3, "pre_norm": True},
]


@pytest.mark.parametrize(
    "arguments",
    [*VARIANTS[:2], *(pytest.param(arguments, marks=pytest.mark.slow) for arguments in VARIANTS[2:])],
    ids=lambda arguments: "-".join(map(str, arguments.values())) or "paper",
)
def test_every_variant(make_transformer, tmp_path, arguments):
    translator = make_transformer(**arguments)
    translator.export(tmp_path / "exported", format="ctranslate2")
    engine = Translator.from_preset(tmp_path / "exported", engine="ctranslate2")
    found = engine.translate_details(TEXTS, beam_width=1) + engine.translate_details(TEXTS)
    subwords = translator.target_subwords
    ids = [[engine.ids[piece] for piece in one.tokens] for one in found]
    longest = max(map(len, ids))
    target_in = np.array([[subwords.start_id, *row[:-1], *[0] * (longest - len(row))] for row in ids])
    source = translator.compiled_search.pad(translator.source_subwords.encode(TEXTS * 2))
    logits = translator.model((source, target_in)).numpy()  # teacher forcing
    logits[..., [subwords.pad_id, subwords.start_id]] = -1e9  # are never written
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    for number, (one, row) in enumerate(zip(found, ids, strict=True)):
        log_prob = log_probs[number, np.arange(len(row)), row].sum()
        assert one.log_prob == pytest.approx(log_prob, abs=1e-3)
        assert one.hypotheses[0].score == pytest.approx(log_prob / len(row), abs=1e-3)
        if number < len(TEXTS):  # greedy search writes the likeliest word
            assert row == logits[number, : len(row)].argmax(axis=-1).tolist()


@pytest.fixture(scope="module")
def translator(make_transformer):
    return make_transformer(positions="relative", max_distance=2, sharpness=4, seed=16)


@pytest.fixture(scope="module")
def exported(translator, tmp_path_factory):
    directory = tmp_path_factory.mktemp("ctranslate2") / "exported"
    translator.export(directory, format="ctranslate2")
    return directory


@pytest.fixture(scope="module")
def engine(exported):
    return Translator.from_preset(exported, engine="ctranslate2")


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_verification(translator, exported, engine, make_transformer, tmp_path, monkeypatch):
    texts = [*TEXTS, " "]
    assert translator.verify_export(exported, texts) == len(texts)
    assert translator.translate(texts) == engine.translate(texts)
    with monkeypatch.context() as patch:  # forbids `</s>`, which then has no share of the probability there
        patch.setattr(translator, "search", translator.search.replace(min_length=11))
        assert translator.verify_export(exported, texts) == len(texts)
    other = make_transformer(positions="relative", max_distance=2, sharpness=4)
    other.export(tmp_path / "other", format="ctranslate2")
    said = r"text \d is translated to .* by CTranslate2, to .* a beam of [13]"
    with pytest.raises(KerasZooError, match=said):
        translator.verify_export(tmp_path / "other", texts)
    other.export(tmp_path / "other", format="ctranslate2", quantize="int8")
    assert 1 <= translator.verify_export(tmp_path / "other", texts) < len(texts)
    sizes = [(place / "model.bin").stat().st_size for place in (tmp_path / "other", exported)]
    assert sizes[0] < sizes[1]


@pytest.mark.usefixtures("eagerly")
def test_a_quantized_model_is_unpacked(make_transformer, tmp_path):
    translator = make_transformer(tie_embeddings="target", sharpness=4, seed=16)
    translator.model.quantize("int8", config=exact_inputs())
    translator.export(tmp_path / "exported", format="ctranslate2")
    engine = Translator.from_preset(tmp_path / "exported", engine="ctranslate2")
    found = [one.translate_details(TEXTS, beam_width=1) for one in (translator, engine)]
    for ours, theirs in zip(*found, strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.log_prob == pytest.approx(theirs.log_prob, abs=1e-2)
    translator.model.enable_lora(2)
    assert translator.verify_export(tmp_path / "exported", TEXTS) == len(TEXTS)


@pytest.mark.usefixtures("eagerly")
def test_options_of_the_search(translator, engine):
    for hypotheses in engine.n_best(TEXTS, num_hypotheses=4, length_penalty=0):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert len(scores) == 4 and scores == sorted(scores, reverse=True)
        assert scores == [hypothesis.log_prob for hypothesis in hypotheses]
    options = {"beam_width": 1, "no_repeat_ngram": 2, "min_length": 3, "max_length": 7}
    found = engine.translate_details(TEXTS, **options)
    for one in found:
        pairs = list(zip(one.tokens, one.tokens[1:], strict=False))
        assert len(set(pairs)) == len(pairs) and 4 <= len(one.tokens) <= 7
    assert [one.text for one in found] == translator.translate(TEXTS, **options)


def test_the_program_of_the_documentation_runs_without_keras(exported, engine):
    snippets = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.S)
    (program,) = [snippet for snippet in snippets if "import ctranslate2" in snippet]
    assert len(program.splitlines()) <= 15
    texts = [*TEXTS, "", "one " * 50]
    program = program.replace('"runs/ct2"', repr(str(exported)))
    program = program.replace('["Two dogs are running."]', repr(texts))
    hidden = "import sys; sys.modules.update(dict.fromkeys(('keras', 'tensorflow', 'keraszoo')))\n"
    ran = subprocess.run([sys.executable, "-c", hidden + program], capture_output=True, text=True)
    with pytest.warns(UserWarning, match="1 of 6 sentences are cut to 40 subwords"):
        assert (ran.stdout, ran.stderr) == (f"{engine.translate(texts)}\n", "")


def test_an_export_is_used_without_keras(exported, engine):
    program = f"""
import sys
from keraszoo.cli.app import main
sys.modules["keras"] = None
main(["translate", {str(exported)!r}, "--engine", "ctranslate2", "--json"])
"""
    run = {"input": "\n".join(TEXTS), "capture_output": True, "text": True}
    ran = subprocess.run([sys.executable, "-c", program], **run)
    assert ran.returncode == 0, ran.stderr
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [answer["text"] for answer in answers] == engine.translate(TEXTS)


def test_load_reads_an_export_without_keras(exported, engine):
    program = f"""
import sys
sys.modules.update(dict.fromkeys(("keras", "tensorflow")))
from keraszoo.translation.ctranslate2_translator import load
print(load({str(exported)!r}).translate({TEXTS!r}))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == f"{engine.translate(TEXTS)}\n", ran.stderr


@pytest.mark.parametrize("read", [load, functools.partial(Translator.from_preset, engine="ctranslate2")])
def test_a_model_is_converted(translator, exported, engine, tmp_path, read):
    translator.save_to_preset(tmp_path / "model")
    assert read(tmp_path / "model").translate(TEXTS) == engine.translate(TEXTS)
    with pytest.raises(KerasZooError, match="expected keras or ctranslate2, got 'onnx'"):
        Translator.from_preset(tmp_path / "model", engine="onnx")
    with pytest.raises(KerasZooError, match="got an export; .*--engine ctranslate2"):
        Translator.from_preset(exported)


def test_what_ctranslate2_cannot_do(untrained, make_transformer, translator, engine, tmp_path, monkeypatch):
    options = {"sampling": True}, {"coverage_penalty": 0.2}, {"normalization": "gnmt"}, {"prefix": "eins"}
    for search in (*options, {"terms": {"no": "eins"}}):
        (name,) = search
        with pytest.raises(KerasZooError, match=f"the engine ctranslate2 does not support {name}"):
            engine.translate(TEXTS, **search)
    with pytest.raises(KerasZooError, match="the engine ctranslate2 has no attention weights"):
        engine.require_attention()
    place = tmp_path / "exported"
    for other, settings, said in (
        (untrained, {}, "Transformers only: RNNSearch cannot be exported to it"),
        (make_transformer(num_experts=3), {}, "CTranslate2 has no mixture of experts"),
        (translator, {"quantize": "int4"}, "quantize: expected one of float32, .* got 'int4'"),
        (translator, {"format": "pickle"}, "format: expected savedmodel, ctranslate2 or onnx, got 'pickle'"),
    ):
        with pytest.raises(KerasZooError, match=said):
            other.export(place, **{"format": "ctranslate2", **settings})
    with pytest.raises(KerasZooError, match="no such directory"):
        Translator.from_preset(place, engine="ctranslate2")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(KerasZooError, match=r"pip install 'keraszoo\[ctranslate2\]'"):
        translator.export(place, format="ctranslate2")
    assert not any(tmp_path.iterdir())


def test_a_damaged_export(exported, tmp_path):
    settings = json.loads((exported / "keraszoo.json").read_text())
    no_subwords = json.dumps({**settings, "subwords": []}).encode()
    damages = ("model.bin", b"x"), ("keraszoo.json", b"[]"), ("keraszoo.json", no_subwords)
    for i, (name, content) in enumerate(damages):
        place = tmp_path / str(i)
        place.mkdir()
        for file in exported.iterdir():
            (place / file.name).write_bytes(content if file.name == name else file.read_bytes())
        with pytest.raises(KerasZooError, match="not an export for CTranslate2: "):
            Translator.from_preset(place, engine="ctranslate2")
