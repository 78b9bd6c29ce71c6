"""What subwords read a text as: forms of characters that a vocabulary lacks, and rules inside of a model."""

import random
import unicodedata
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from keraszoo.errors import KerasZooError
from keraszoo.text.normalization import ALIKE, Reading, learned_signs, nfc_rules, normalizer
from keraszoo.text.subwords import Subwords

PLAIN = ["They weren't at home.", 'He said: "No - never..."', "a-b c's (1, 2)"] * 20


@pytest.fixture(scope="module")
def plain():
    """A vocabulary of text that was cleaned: it has ASCII only."""
    return Subwords.train(PLAIN, 50)


def same(subwords, texts):
    return len({tuple(ids) for ids in subwords.encode(texts)}) == 1


MARKS = [*"„|“ ”|” «|» ‟|″ 「|」 ❝|❞ ``|'' ,,|'' ’’|’’".split(), "«\u00a0|\u202f»", '„\u2009|"']
TYPED = {
    "apostrophes": (0, [f"They weren{sign}t at home." for sign in "’‘´`ʼ′ʹ❜"]),
    "dashes": (1, [f"He said: “No {dash} never…”" for dash in "–—‐‑−⁃﹘"]),
    "quotation marks": (1, ["He said: " + marks.replace("|", "No – never…") for marks in MARKS]),
    "full width": (2, ["a-b c's （１，\u3000２）"]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_signs_are_read_as_the_training_text_has_them(plain, kind):
    line, texts = TYPED[kind]
    assert same(plain, [PLAIN[line], *texts])
    assert [plain.unknown(text) for text in texts] == [[]] * len(texts)


def test_signs_that_a_text_has_are_kept_and_plain_ones_read_as_its_own():
    text = "'a' ’b’ \"c\" „d“ - e – f"
    both = Subwords.train([text] * 20, 25)
    assert both.decode(both.encode([text])) == [text]
    assert same(both, ["“", "“"]) and not same(both, ["„", '"'])
    french = Subwords.train(["l’été d’Anne", "qu’il a dit"] * 20, 30)
    assert same(french, ["l’été", "l'été", "l´été"])
    assert french.decode(french.encode(["l'été"])) == ["l’été"]
    # quotation marks of two characters, and blanks inside of them
    latex = Subwords.train(["``yes'' he said", '"no"'] * 20, 30)
    assert latex.decode(latex.encode(["``yes''"])) == ["``yes''"]
    french = Subwords.train(["il dit « oui » et", "non"] * 20, 20)
    assert not same(french, ["« oui »", "«oui»"])
    german = Subwords.train(["Er sagte: „Ja“ und ging.", 'Das "war" es.'] * 20, 35)
    assert same(german, ["sagte: „Ja“ und", "sagte: „ Ja “ und", "sagte: „\u00a0Ja\u202f“ und"])
    assert same(german, ["vor » Ja « und", "vor »Ja« und"])


def test_signs_of_the_other_language_of_a_joint_vocabulary_are_not_those_of_this_one():
    english, german = ['"yes" - "no" \'s'] * 200, ['„ja“ – "nein"'] * 200
    joint = Subwords.train(english + german, 30)
    flat = np.concatenate([np.array(ids) for ids in joint.encode(english)])
    source = joint.with_signs_of(flat)
    assert source == joint and (source.signs, joint.signs) == ("'\"-", "'\"“„-–")
    assert same(source, ['"yes" - "no"', "„yes“ – “no”"])
    assert not same(joint, ['"yes" - "no"', "„yes“ – “no”"])
    assert Subwords(joint.model_bytes, source.signs).encode(["„yes“"]) == source.encode(["„yes“"])


def test_rare_signs_are_not_learned():
    counts = Counter({'"': 1760, "“": 3, "„": 170, "'": 9, "’": 5, "-": 5000, "–": 150, "—": 99})
    assert learned_signs(counts) == "'’" + '"„' + "-–"
    assert learned_signs(Counter()) == "".join(ALIKE)  # nothing is known of a text without any


def test_unknown_parts_are_named_and_invisible_characters_not_read(plain):
    assert plain.unknown("They weren't at Łódź 🙂, Łódź") == ["Łó", "ź", "🙂"]
    assert plain.unknown("They weren't at home.") == plain.unknown("") == []
    assert plain.unknown("é ł") == ["é", "ł"]  # not read as letters without the mark
    marked = "\ufeff\u200eThey\u200f we\u00adren't\u2060 at \u202ahome\u202c.\u061c"
    assert same(plain, [PLAIN[0], marked, "Th\u200cey weren't at ho\u200dme."])
    assert plain.unknown(marked) == []


def test_rules_compose_letters_and_keep_what_a_reader_sees():
    normalize = normalizer(norm_map=nfc_rules()).normalize
    frozen = unicodedata.ucd_3_2_0.normalize
    characters = "".join(map(chr, [*range(0xA1, 0x3000), *range(0xAC00, 0xAD00), *range(0xF900, 0xFFF0)]))
    for character in characters:
        composed = frozen("NFC", character)
        shown = normalize(f"a.{character}.b")
        if unicodedata.category(character) in ("Zs", "Zl", "Zp", "Cc") or character == "\u200b":
            assert shown in ("▁a.▁.b", "▁a..b"), hex(ord(character))
        elif shown != f"▁a.{composed}.b":
            assert character in Reading("") or Reading("")[ord(character)] == "", hex(ord(character))
        else:
            assert normalize(f"a.{frozen('NFD', character)}.b") == shown
    assert normalize("می\u200cخواهم，（好）… ﬁ") == "▁می\u200cخواهم，（好）…▁ﬁ"


def test_a_vocabulary_keeps_joiners_and_full_width_punctuation():
    texts = ["می\u200cخواهم", "你好，（世界）…", "નમસ્તે"] * 20
    subwords = Subwords.train(texts, 27)
    assert subwords.decode(subwords.encode(texts[:3])) == texts[:3]
    unified = Subwords.train(texts, 26, normalization="nmt_nfkc")
    assert unified.decode(unified.encode(texts[:2])) == ["می خواهم", "你好,(世界)..."]
    with pytest.raises(KerasZooError, match="normalization must be one of nfc, nmt_nfkc, got 'nfd'"):
        Subwords.train(texts, 27, normalization="nfd")


def test_the_sign_of_sentencepiece_for_unknown_hides_no_character():
    for normalization in ("nfc", "nmt_nfkc"):
        subwords = Subwords.train(["abc", "xyz \u2585"] * 20, 14, normalization=normalization)
        assert subwords.unknown("xyz abc") == []
        assert subwords.unknown("x\u2585y") == ["\u2585"]


@pytest.mark.parametrize("normalization", ["nfc", "nmt_nfkc"])
def test_a_portable_model_reads_every_character_alike(normalization):
    tf_text = pytest.importorskip("tensorflow_text")
    subwords = Subwords.train(PLAIN + ["„é“ ﬁ"], 50, normalization=normalization).with_signs_of([9])
    portable = sentencepiece.SentencePieceProcessor(model_proto=subwords.portable_bytes)
    every = [chr(code) for code in [*range(1, 0xD800), *range(0xE000, 0x20000)]]
    texts = [f"a{''.join(every[i : i + 9])}b" for i in range(0, len(every), 9)]
    draw = random.Random(0)
    texts += ["".join(draw.choices("a't \"“”’–\u00ad\u200e\u200c…é,ﬁ`„«»\u00a0", k=12)) for _ in range(500)]
    wanted = subwords.encode(texts)
    assert portable.encode(texts) == wanted
    tokenizer = tf_text.SentencepieceTokenizer(subwords.portable_bytes)
    assert tokenizer.tokenize(texts).to_list() == wanted


def test_a_model_without_rules_of_its_own_is_portable():
    model = ModelProto.FromString(Subwords.train(["it's one", "it's two"] * 5, 18).model_bytes)
    model.ClearField("normalizer_spec")
    subwords = Subwords(model.SerializeToString())
    portable = sentencepiece.SentencePieceProcessor(model_proto=subwords.portable_bytes)
    assert portable.encode("it\u2019s two") == subwords.encode(["it's two"])[0]
