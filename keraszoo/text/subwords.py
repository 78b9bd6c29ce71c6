"""Subwords: text to ids and back by a sentencepiece model."""

import io
import pathlib
import random
import re

from keraszoo.errors import DataError, KerasZooError
from keraszoo.messages import shown
from keraszoo.saving.atomic import replace_file
from keraszoo.text.lines import located

SPECIAL = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}  # ids in the models trained here
HOW_TO_TRAIN = "train one with `Subwords.train`, or with spm_train " + " ".join(
    f"--{name}={id_}" for name, id_ in SPECIAL.items()
)
SYMBOL = re.compile(rb"<(?=(pad|unk|/?s)>)")
SPECIAL_NAMES = ("<s>", "</s>", "<pad>")
WORD_START = "\u2581"  # sentencepiece's mark for a blank before a piece
THREADS = 2


class Subwords:
    """A vocabulary of subwords: a sentencepiece model of the type `bpe` or `unigram`.

    The bytes of the model (a `.model` file of sentencepiece) are the whole state: two `Subwords` with the
    same bytes are equal. The model contains its own rule of normalisation; the models trained here use
    sentencepiece's `nmt_nfkc`: NFKC, no control characters, every run of blanks is one space, none at the
    ends. `decode(encode(x)) == x` holds for normalised text whose characters are all known.

    Text never gives the ids of `<pad>`, `<s>` and `</s>`: the characters `<s>` in a sentence are ordinary
    characters.

    Args:
        model_bytes: the model. It must define pad, `<s>`, `</s>` and unknown, with any ids.

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

    def __init__(self, model_bytes):
        import sentencepiece

        self.model_bytes = bytes(model_bytes)
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=self.model_bytes or b"-")
        except RuntimeError:
            size = len(self.model_bytes)
            raise DataError(f"not a sentencepiece model ({size} bytes); {HOW_TO_TRAIN}") from None
        self.vocabulary_size = self._processor.vocab_size()
        self.pad_id = self._processor.pad_id()
        self.start_id = self._processor.bos_id()
        self.end_id = self._processor.eos_id()
        self.unknown_id = self._processor.unk_id()
        ids = {"pad": self.pad_id, "<s>": self.start_id, "</s>": self.end_id, "<unk>": self.unknown_id}
        missing = " and no ".join(name for name, id_ in ids.items() if id_ < 0)
        if missing:
            raise DataError(f"the sentencepiece model has no {missing} symbol; {HOW_TO_TRAIN}")
        self._names = dict(zip((self.start_id, self.end_id, self.pad_id), SPECIAL_NAMES, strict=True))

    @classmethod
    def train(
        cls,
        sentences,
        vocabulary_size=8000,
        model_type="bpe",
        character_coverage=1.0,
        *,
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
            max_sentences: from a longer text, a random sample of this many sentences is used. The sample is
                held in memory.
            seed: of that sample.

        Returns:
            A `Subwords`.

        Raises:
            DataError: no text, or text that is not valid Unicode.
            KerasZooError: a vocabulary too large or too small for the sentences (the message gives the
                limit), or an unknown `model_type`. Errors raised by `sentences` are passed on.
        """
        import sentencepiece

        if model_type not in ("bpe", "unigram"):
            raise KerasZooError(f'model_type must be "bpe" or "unigram", got {model_type!r}')
        if not 0.98 <= character_coverage <= 1:  # the limits of sentencepiece
            raise KerasZooError(f"character_coverage must be from 0.98 to 1, got {character_coverage}")
        if vocabulary_size < 6:
            raise KerasZooError(
                f"vocabulary_size must be at least 6 (four are special), got {vocabulary_size}"
            )
        sample = _sample(sentences, max_sentences, seed)
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sample),
                model_writer=model,
                vocab_size=vocabulary_size,
                model_type=model_type,
                character_coverage=character_coverage,
                num_threads=THREADS,
                minloglevel=2,
                **SPECIAL,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise _training_error(str(error), len(sample), vocabulary_size) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, path):
        """Reads a model file written by `save` or by sentencepiece.

        Raises:
            DataError: with the file: no such file, not a sentencepiece model, or a missing symbol.
        """
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
        """Turns texts into ids, without `<s>` and `</s>`.

        Args:
            texts: a list of strings. A blank string gives no ids.

        Returns:
            A list of lists of ids in `[0, vocabulary_size)`, one per text.

        Raises:
            DataError: `texts` is not a list of strings, or a text is not valid Unicode.
        """
        if isinstance(texts, (str, bytes)):
            raise DataError(f"encode takes a list of strings, got one {type(texts).__name__}")
        texts = list(texts)
        try:
            return self._processor.encode(texts, num_threads=THREADS)
        except (TypeError, RuntimeError):
            for number, text in enumerate(texts):
                _utf8(text, f"text {number}")
            raise

    def decode(self, ids):
        """Turns lists of ids into texts. `<pad>`, `<s>` and `</s>` give nothing, unknown gives ` ⁇ `.

        Args:
            ids: a list of lists (or arrays) of ids.

        Returns:
            A list of strings, one per list of ids.

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
        """Returns the ids of subwords: the inverse of `pieces`.

        Raises:
            DataError: a piece that is not in the vocabulary.
        """
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


def _sample(sentences, size, seed):
    """Draws at most `size` sentences that are not blank, as bytes, all with the same probability.

    sentencepiece can sample as well, but its samples differ between processes.
    """
    if isinstance(sentences, (str, bytes)):
        raise DataError(f"expected an iterable of sentences, got one {type(sentences).__name__}")
    draw = random.Random(seed)
    sample = []
    count = 0
    for number, sentence in enumerate(sentences):
        data = _utf8(sentence, f"sentence {number}")
        if not data.strip():
            continue
        # sentencepiece removes the names of its symbols from the training text. A blank prevents that, so
        # that their characters are learnt like any others.
        data = SYMBOL.sub(b"< ", data) if b"<" in data else data
        count += 1
        if len(sample) < size:
            sample.append(data)
        elif (place := draw.randrange(count)) < size:
            sample[place] = data
    return sample


def _utf8(text, what):
    if not isinstance(text, str):
        raise DataError(f"{what} must be a string, got {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(f"{what} is not valid Unicode: a lone surrogate at character {error.start}") from None


def _training_error(message, count, vocabulary_size):
    """Explains an error of sentencepiece's trainer."""
    if count == 0 or "all_chars_count" in message or "sentences_.empty()" in message:
        return DataError(f"no text to learn subwords from: {count} sentences, none of 1 to 4,192 bytes")
    if limit := re.search(r"set it to a value <= (\d+)", message):
        problem = f"too large for {count} sentences; the largest is {limit[1]}"
    elif limit := re.search(r"required_chars\. \d+ vs (\d+)", message):
        problem = (
            f"too small: the text has {int(limit[1]) - 4} different characters, with the special symbols "
            f"{limit[1]}; increase it, or take a character_coverage below 1"
        )
    else:
        problem = f"not possible: {message}"
    return KerasZooError(f"vocabulary_size {vocabulary_size} is {problem}")
