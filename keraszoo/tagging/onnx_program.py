"""Tags text with NumPy and onnxruntime: python tag.py < lines_of_text > lines_of_json"""

import itertools
import json
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np


class Tagger:
    """Tags texts with the folder that `keraszoo export TAGGER FOLDER --format onnx` wrote."""

    def __init__(self, folder):
        import onnxruntime

        self.model = onnxruntime.InferenceSession(str(Path(folder, "model.onnx")))
        vars(self).update(json.loads(Path(folder, "tokens.json").read_text("utf-8")))
        if self.subwords and self.subwords["library"] == "sentencepiece":
            from sentencepiece import SentencePieceProcessor

            self.pieces = SentencePieceProcessor(model_file=str(Path(folder, "subwords.spm"))).encode
        elif self.subwords:
            from tokenizers import Tokenizer

            self.library = Tokenizer.from_file(str(Path(folder, "subwords.json")))
            self.pieces = self.library_pieces

    def split(self, text):
        """Yields the sentences of a text: lists of words with their start and end."""
        for sentence in re.finditer(self.sentence, text):
            words = []
            for token in re.compile(self.token).finditer(text, *sentence.span()):
                end = token.start()
                words += [(w, end, end := end + len(w)) for w in re.split(self.part, token[0]) if w]
            yield from (words[i : i + 512] for i in range(0, len(words), 512))

    def ids(self, word):
        """The ids of a word, of its casing and of its characters."""
        word = re.sub(self.unseen, r"\1", word)
        for form in self.backoff:
            base = {"l": word.lower(), "c": word[:1].upper() + word[1:].lower()}.get(form[0], word)
            if number := self.words.get(re.sub("[0-9]", form[-1], base) if "digits" in form else base):
                break
        casing = next(i for i, casing in enumerate(self.casings, 1) if re.fullmatch(casing, word))
        return [number or 1, casing, *(self.characters.get(one, 1) for one in word[: self.word_length])]

    def library_pieces(self, word):
        """The ids of the subwords of a word by the library `tokenizers`."""
        if self.library.normalizer:
            if self.subwords["strip_accents"]:
                word = unicodedata.normalize("NFD", word)
            unread = ("Cc", "Cf", "Co", "Mn") if self.subwords["strip_accents"] else ("Cc", "Cf", "Co")
            word = word.replace("\ufffd", "")
            word = "".join(letter for letter in word if unicodedata.category(letter) not in unread)
            word = "".join(map(str.lower, word)) if self.subwords["lowercase"] else word
            word = self.library.normalizer.normalize_str(word)
        pieces = [piece for piece, _ in self.library.pre_tokenizer.pre_tokenize_str(word)]
        ids = []
        for piece in pieces:
            if len(piece.encode()) > self.subwords["most_bytes"]:
                ids.append(self.subwords["unknown"])
            else:
                ids += [token.id for token in self.library.model.tokenize(piece)]
        return ids

    def pieces_of(self, word):
        """The ids of the subwords of a word, plus 1: 0 is padding."""
        word, rules = self.subwords["before"] + re.sub(self.unseen, r"\1", word), self.subwords
        ids = [id_ + rules["shift"] for id_ in self.pieces(word)[: rules["most"]]] or [rules["unknown"]]
        return [rules["unknown"] + 1 if id_ in rules["as_unknown"] else id_ + 1 for id_ in ids]

    def feed(self, sentences):
        """The inputs of the model for some sentences of words, padded with 0."""
        if self.subwords:
            rows = [[self.pieces_of(word) for word, *_ in words] for words in sentences]
            firsts = [list(itertools.accumulate(map(len, row), initial=1))[:-1] for row in rows]
            rows = [list(itertools.chain.from_iterable(row)) for row in rows]
            return {"words": padded(firsts), "subwords": padded(rows)}
        rows = [[self.ids(word) for word, *_ in words] for words in sentences]
        ids = np.zeros((len(rows), max(map(len, rows)), max(len(w) for row in rows for w in row)), "int32")
        for i, j, word in ((i, j, word) for i, row in enumerate(rows) for j, word in enumerate(row)):
            ids[i, j, : len(word)] = word
        return {x: ids[..., {"words": 0, "casing": 1, "characters": np.s_[2:]}[x]] for x in self.features}

    def tag(self, texts):
        """The words of each text: tuples of token, start, end, tag, probability (and attention)."""
        sentences = [(words, number) for number, text in enumerate(texts) for words in self.split(text)]
        sentences.sort(key=lambda sentence: sentence[0][-1][2] - sentence[0][0][1])
        answers = [[] for _ in texts]
        while sentences:  # fewer long ones at a time
            *_, (_, _, end) = words = sentences[-1][0]
            count = min(64, 1 + 65536 // (end - words[0][1]))
            some, sentences[-count:] = sentences[-count:], []
            feed = self.feed([words for words, _ in some])
            outputs = [output.tolist() for output in self.model.run(self.outputs, feed)]
            for (words, number), tags, *others in zip(some, *outputs, strict=True):
                tags = [self.iob2[before][tag] for before, tag in zip([-1, *tags], tags, strict=False)]
                answers[number] += [(*w, *r) for w, *r in zip(words, tags, *others, strict=False)]
        return [sorted(words, key=lambda word: word[1]) for words in answers]

    def entities(self, text, words):
        """The entities of a text, for its words from `tag`: dicts as `keraszoo tag` writes them."""
        runs = []
        for word in words:
            if word[3] != "O":
                runs += [[]] if word[3].startswith("B-") else []
                runs[-1].append(word)
        for run in runs:
            _, starts, ends, tags, probabilities, *attention = zip(*run, strict=True)
            start, end = starts[0], ends[-1]
            entity = dict(text=text[start:end], label=tags[0][2:], start=start, end=end)
            weights = {"attention": sum(attention[0])} if attention else {}
            yield {**entity, "probability": min(probabilities), **weights}


def padded(rows):
    """Rows of numbers as an int32 array, padded with 0."""
    return np.array([row + [0] * (max(map(len, rows)) - len(row)) for row in rows], "int32")


if __name__ == "__main__":
    lines = [line.decode().rstrip("\r\n").lstrip("\ufeff") for line in sys.stdin.buffer]
    tagger = Tagger(Path(__file__).parent)
    for line, words in zip(lines, tagger.tag(lines), strict=True):
        answer = {"text": line, "entities": list(tagger.entities(line, words))}
        sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
