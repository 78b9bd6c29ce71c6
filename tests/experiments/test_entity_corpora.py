"""The entity corpora, read from small ones of our own under the names that publishers give them."""

import gzip

import entity_corpora
import pytest

from keraszoo.text.columns import read_columns


def write(path, sentences, label="PER"):
    """Sentences of two words, the first a name; every file of another kind, as the real ones are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{name}\tB-{label}\nspeaks\tO\n\n" for name in sentences)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Where the corpora are that are prepared from small ones."""
    tmp_path = tmp_path_factory.mktemp("corpora")
    for folder in ("bio_bc5cdr", "bio_ncbi_disease"):
        for part in ("train", "devel", "test"):
            write(tmp_path / folder / f"{part}.tsv.gz", [f"{folder}-{part}-{i}" for i in range(3)], "Disease")
    for part in ("train", "dev", "test"):
        write(tmp_path / "wnut17" / f"{part}.conll", [f"wnut-{part}"], "creative-work")
    for section in "abefgh":
        write(tmp_path / "btc" / f"{section}.conll.gz", [f"btc-{section}-{i}" for i in range(4)])
    lines = "".join(f"Wiki-{i} I-PER\nspeaks O\n\n-DOCSTART- O\n\n" for i in range(60))
    (tmp_path / "wikigold").mkdir()
    (tmp_path / "wikigold" / "wikigold.conll").write_text(lines)
    (tmp_path / "ner_gmb").mkdir()
    (tmp_path / "ner_gmb" / "gmb.tsv").write_text("".join(map(meaning_bank_sentence, range(40))))
    for part in ("ewt-ud-dev", "ewt-ud-test", "pud-ud-test"):
        write(tmp_path / "ner_uner" / f"en_{part}.iob2.gz", [f"uner-{part}"], "ORG")
    write(tmp_path / "ner_sec" / "fin5.train.tsv.gz", ["Borrower"])
    (tmp_path / "ner_worldwide").mkdir()
    text = "# doc = a\nKato\tB-Person\nspeaks\tO\n\nUgandan\tB-NORP\nspeaks\tO\n"
    (tmp_path / "ner_worldwide" / "worldwide.iob2.gz").write_bytes(gzip.compress(text.encode()))
    entity_corpora.prepare(tmp_path, tmp_path / "out")
    return tmp_path / "out"


def meaning_bank_sentence(number):
    """A sentence with a title, a person that is labelled as an organisation, a country and a nationality."""
    rows = [("Mr.", "B-per"), (f"Al-{number}", "B-org"), ("met", "O"), ("President", "B-per")]
    rows += [("Rice", "I-per"), ("in", "O"), ("Nepal", "B-geo" if number % 2 else "B-gpe"), ("with", "O")]
    rows += [("Iraqi", "B-gpe")]
    return "".join(f"{token}\t{tag}\tX\n" for token, tag in rows) + "\n"


def names_in(path):
    return {sentence.tokens[0] for sentence in read_columns(path).sentences}


def test_each_corpus_has_its_usual_parts(out):
    assert names_in(out / "bc5cdr" / "validation.tsv") == {f"bio_bc5cdr-devel-{i}" for i in range(3)}
    assert names_in(out / "btc" / "test.tsv") == {f"btc-f-{i}" for i in range(4)}
    assert names_in(out / "btc" / "validation.tsv") == {"btc-h-2", "btc-h-3"}
    assert {"btc-h-0", "btc-h-1", "btc-a-0", "btc-g-3"} < names_in(out / "btc" / "train.tsv")


def test_the_folds_of_wikigold_share_no_document(out):
    tests = []
    for fold in "12345":
        parts = [names_in(out / "wikigold" / fold / f"{part}.tsv") for part in entity_corpora.PARTS]
        assert len(set.union(*parts)) == sum(map(len, parts)) == 60 and all(parts)
        tests.append(parts[2])
    assert len(set.union(*tests)) == sum(map(len, tests)) == 60


def test_the_general_corpora_as_one(out):
    folder = out / "english"
    assert read_columns(folder / "test_wnut17.tsv").sentences[0].tags == ("B-MISC", "O")
    (worldwide, other) = read_columns(folder / "test_worldwide.tsv").sentences
    assert (worldwide.tags, other.tags) == (("B-PER", "O"), ("O", "O"))
    tests = [names_in(folder / f"test_{name}.tsv") for name in ("wnut17", "btc", "wikigold")]
    assert names_in(folder / "test.tsv") == set.union(*tests)
    assert not names_in(folder / "train.tsv") & names_in(folder / "test.tsv")
    train = {sentence.tokens: sentence.tags for sentence in read_columns(folder / "train.tsv").sentences}
    assert train["Borrower", "speaks"] == ("O", "O")
    place, nation = ("in", "O"), ("with", "O")
    pairs = [("Mr.", "O"), ("Al-2", "B-PER"), ("met", "O"), ("President", "O"), ("Rice", "B-PER"), place]
    tokens, tags = zip(*pairs, ("Nepal", "B-LOC"), nation, ("Iraqi", "B-MISC"), strict=True)
    assert train[tokens] == tags
    split = next(tokens for tokens in train if tokens[2:5] == ("Al", "-", "3"))
    assert split[:2] == ("Mr", ".") and train[split][:5] == ("O", "O", "B-PER", "I-PER", "I-PER")
