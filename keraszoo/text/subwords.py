"""Subwords: text to ids and back by a sentencepiece model."""

import functools
import pathlib
from collections import Counter

import numpy as np

from keraszoo.errors import DataError
from keraszoo.messages import shown
from keraszoo.saving.atomic import replace_file
from keraszoo.text import subword_training
from keraszoo.text.lines import located
from keraszoo.text.normalization import SIGNS, Reading, learned_signs, rules_with, with_rules
from keraszoo.text.subword_training import SPECIAL, THREADS, utf8

HOW_TO_TRAIN = "train one with `Subwords.train`, or with spm_train " + " ".join(
    f"--{name}={id_}" for name, id_ in SPECIAL.items()
)
SPECIAL_NAMES = ("<s>", "</s>", "<pad>")
END = "<end of vocabulary>"  # a control symbol: the pieces after it are read as unknown
WORD_START = "\u2581"  # sentencepiece's mark for a blank before a piece


class Subwords:
    """A vocabulary of subwords: a sentencepiece model of the type `bpe` or `unigram`.

    The bytes of the model (a `.model` file of sentencepiece) are the whole vocabulary: two `Subwords` with
    the same bytes are equal. The model contains its own rule of normalisation. In those of `train`, every run
    of blanks is one space, there is none at the ends, and control characters are dropped.
    `decode(encode(x)) == x` holds for normalised text whose characters are all known.

    Text is read as the model was trained: a typographic apostrophe, quotation mark or dash that the
    vocabulary lacks is read as a plain one that it has, another character by its NFKC form; invisible
    characters are dropped (see `Reading`).

    Text never gives the ids of `<pad>`, `<s>` and `</s>`: the characters `<s>` in a sentence are ordinary
    characters.

    Pieces after the control symbol `END` compete with the others for a text, and are read as unknown.

    Args:
        model_bytes: the model. It must define pad, `<s>`, `</s>` and unknown, with any ids.
        signs: the apostrophes, quotation marks and dashes that are read as they are, a str; `None`: all that
            the vocabulary has. A joint vocabulary has those of two languages; see `with_signs_of`.

    Raises:
        DataError: the bytes are not a sentencepiece model, or one of the four symbols is missing.

    Example:

    >>> subwords = Subwords.train(["low lower lowest", "new newer newest"] * 5, vocabulary_size=22)
    >>> subwords.vocabulary_size
    22
    >>> ids = subwords.encode(["lower newest", ""])
    >>> subwords.decode(ids)
    ['lower newest', '']

    Reference:
        Kudo and Richardson 2018, SentencePiece, https://aclanthology.org/D18-2012;
        Sennrich et al. 2016 (BPE), https://aclanthology.org/P16-1162; Kudo 2018 (unigram),
        https://aclanthology.org/P18-1007.
    """

    def __init__(self, model_bytes, signs=None):
        import sentencepiece

        self.model_bytes = bytes(model_bytes)
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=self.model_bytes or b"-")
        except RuntimeError:
            size = len(self.model_bytes)
            raise DataError(f"not a sentencepiece model ({size} bytes); {HOW_TO_TRAIN}") from None
        self.pad_id = self._processor.pad_id()
        self.start_id = self._processor.bos_id()
        self.end_id = self._processor.eos_id()
        self.unknown_id = self._processor.unk_id()
        count, end = self._processor.vocab_size(), self._processor.piece_to_id(END)
        self.vocabulary_size = count if end == self.unknown_id else end
        self._has_rest = self.vocabulary_size < count
        ids = {"pad": self.pad_id, "<s>": self.start_id, "</s>": self.end_id, "<unk>": self.unknown_id}
        missing = " and no ".join(name for name, id_ in ids.items() if not 0 <= id_ < self.vocabulary_size)
        if missing:
            raise DataError(f"the sentencepiece model has no {missing} symbol; {HOW_TO_TRAIN}")
        self._names = dict(zip((self.start_id, self.end_id, self.pad_id), SPECIAL_NAMES, strict=True))
        self._pieces = self._processor.id_to_piece(list(range(self.vocabulary_size)))
        unused = self._processor.is_unused(list(range(self.vocabulary_size)))
        known = {piece for piece, no in zip(self._pieces, unused, strict=True) if len(piece) == 1 and not no}
        self.signs = "".join(
            sign for sign in (SIGNS if signs is None else signs) if sign in known.intersection(SIGNS)
        )
        self._reading = Reading(known.difference(SIGNS).union(self.signs), self._pieces)

    @classmethod
    def train(
        cls,
        sentences,
        vocabulary_size=8000,
        model_type="bpe",
        character_coverage=1.0,
        *,
        normalization="nfc",
        max_sentences=5_000_000,
        seed=0,
    ):
        """Learns a vocabulary from sentences. Nothing is written to disk.

        For a joint vocabulary of two languages, pass the sentences of both. The ids are pad 0, unknown 1,
        `<s>` 2, `</s>` 3. The same sentences and arguments give the same bytes.

        Args:
            sentences: an iterable of strings, read once. Blank sentences are skipped, and (as in
                sentencepiece) those above 4,192 bytes.
            vocabulary_size: the total number of ids, including special ids and single characters.
            model_type: `"bpe"` or `"unigram"`.
            character_coverage: the share of the characters of the text that get an id; the rarest of the
                others are unknown. 1.0 keeps every character.
            normalization: `"nfc"` composes letters and keeps all that a reader sees; sentencepiece's
                `"nmt_nfkc"` also unifies, for instance, full-width punctuation with ASCII and `ﬁ` with `fi`.
            max_sentences: from a longer text, a random sample of this many sentences is used. The sample is
                held in memory.
            seed: of that sample.

        Returns:
            A `Subwords`.

        Raises:
            DataError: no text, or text that is not valid Unicode.
            KerasZooError: a vocabulary too large or too small for the sentences (the message gives the
                limit), or an unknown `model_type` or `normalization`. Errors of `sentences` are passed on.
        """
        options = vocabulary_size, model_type, character_coverage, normalization, max_sentences, seed
        return cls(subword_training.train(sentences, *options))

    @classmethod
    def load(cls, path):
        """Reads a model file of `save` or of sentencepiece; raises DataError if it is none."""
        try:
            with located(path):
                return cls(pathlib.Path(path).read_bytes())
        except OSError as error:
            raise DataError(f"cannot read the sentencepiece model: {error.strerror}", path) from None

    def save(self, path):
        """Writes the model file; see `replace_file`."""
        with replace_file(path) as file:
            file.write(self.model_bytes)

    def encode(self, texts):
        """Turns a list of texts into a list of lists of ids, without `<s>` and `</s>`; none for a blank text.

        Raises:
            DataError: not a list of strings, or a text is not valid Unicode.
        """
        if isinstance(texts, (str, bytes)):
            raise DataError(f"encode takes a list of strings, got one {type(texts).__name__}")
        texts = list(texts)
        try:
            rows = self._processor.encode([self._reading(text) for text in texts], num_threads=THREADS)
            return [self._known(row) for row in rows] if self._has_rest else rows
        except (AttributeError, TypeError, RuntimeError):
            for number, text in enumerate(texts):
                utf8(text, f"text {number}")
            raise

    def unknown(self, text):
        """Returns the parts of a text that the vocabulary does not have, a list of distinct str.

        Example:

        >>> Subwords.train(["a dog", "a cat"] * 5, vocabulary_size=12).unknown("a dog in Łódź, Łódź")
        ['in', 'Łó', 'ź,', 'ź']
        """
        text = self._reading(text)
        ids = self._known(self._processor.encode(text))
        pairs = zip(self._processor.encode(text, out_type=str), ids, strict=True)
        return list(dict.fromkeys(piece for piece, id_ in pairs if id_ == self.unknown_id))

    def _known(self, row):
        return [id_ if id_ < self.vocabulary_size else self.unknown_id for id_ in row]

    def with_signs_of(self, ids):
        """Returns this vocabulary for a text with these ids, a flat array: signs rare there become others."""
        counts = Counter()
        for piece, count in zip(self._pieces, np.bincount(ids).tolist(), strict=False):
            for sign in set(piece).intersection(SIGNS) if count else ():
                counts[sign] += count
        return self._with_signs(learned_signs(counts))

    def with_common_signs(self, others):
        """Returns this vocabulary with those of its signs alone that the others, of the same pieces, have."""
        return self._with_signs(set(self.signs).intersection(*(other.signs for other in others)))

    def _with_signs(self, kept):
        return Subwords(self.model_bytes, "".join(sign for sign in self.signs if sign in kept))

    @functools.cached_property
    def portable_bytes(self):
        """A model with all rules by which text is read here, for programs that have sentencepiece only."""
        return with_rules(self.model_bytes, rules_with(self.model_bytes, self._reading))

    def decode(self, ids):
        """Turns a list of lists (or arrays) of ids into a list of texts.

        `<pad>`, `<s>` and `</s>` give nothing, unknown gives ` ⁇ `.

        Raises:
            DataError: an id outside `[0, vocabulary_size)`.
        """
        rows = [self._checked(row) for row in ids]
        return self._processor.decode(rows) if rows else []

    def pieces(self, ids):
        """Returns the subwords of one list of ids as strings; `▁` marks the space before a word.

        `<s>`, `</s>` and `<pad>` have these names, even if the model calls them otherwise.

        Raises:
            DataError: an id outside `[0, vocabulary_size)`.
        """
        return [self._names.get(id_) or self._processor.id_to_piece(id_) for id_ in self._checked(ids)]

    def ids(self, pieces):
        """Returns the ids of subwords: the inverse of `pieces`. Raises DataError for an unknown piece."""
        special = {name: id_ for id_, name in self._names.items()}
        known = self._processor.piece_to_id
        ids = [special[piece] if piece in special else known(str(piece)) for piece in pieces]
        for piece, same in zip(pieces, self.pieces(ids), strict=True):
            if same != piece:
                raise DataError(f"{shown(piece)} is not a piece of the vocabulary of {self.vocabulary_size}")
        return ids

    def _checked(self, ids):
        ids = [int(id_) for id_ in ids]
        if ids and not 0 <= min(ids) <= max(ids) < self.vocabulary_size:
            wrong = next(id_ for id_ in ids if not 0 <= id_ < self.vocabulary_size)
            raise DataError(f"id {wrong} is outside the vocabulary of {self.vocabulary_size}")
        return ids

    def __len__(self):
        return self.vocabulary_size

    def __eq__(self, other):
        return isinstance(other, Subwords) and self.model_bytes == other.model_bytes

    def __hash__(self):
        return hash(self.model_bytes)

    def __repr__(self):
        return f"<Subwords: {self.vocabulary_size} pieces>"
