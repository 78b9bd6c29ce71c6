"""Tags text with NumPy and onnxruntime: python tag.py < lines_of_text > lines_of_json"""

import json
import re
import sys
from pathlib import Path

import numpy as np


class Tagger:
    """Tags texts with the folder that `keraszoo export TAGGER FOLDER --format onnx` wrote."""

    def __init__(self, folder):
        import onnxruntime

        self.model = onnxruntime.InferenceSession(str(Path(folder, "model.onnx")))
        vars(self).update(json.loads(Path(folder, "tokens.json").read_text("utf-8")))

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

    def tag(self, texts):
        """The words of each text: tuples of token, start, end, tag, probability (and attention)."""
        sentences = [(words, number) for number, text in enumerate(texts) for words in self.split(text)]
        sentences.sort(key=lambda sentence: len(sentence[0]))
        answers = [[] for _ in texts]
        for some in (sentences[i : i + 64] for i in range(0, len(sentences), 64)):
            rows = [[self.ids(word) for word, *_ in words] for words, _ in some]
            ids = np.zeros((len(rows), len(rows[-1]), max(len(w) for row in rows for w in row)), "int32")
            for i, j, word in ((i, j, word) for i, row in enumerate(rows) for j, word in enumerate(row)):
                ids[i, j, : len(word)] = word
            feed = {x: ids[..., {"words": 0, "casing": 1, "characters": np.s_[2:]}[x]] for x in self.features}
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


if __name__ == "__main__":
    lines = [line.decode().rstrip("\r\n").lstrip("\ufeff") for line in sys.stdin.buffer]
    tagger = Tagger(Path(__file__).parent)
    for line, words in zip(lines, tagger.tag(lines), strict=True):
        answer = {"text": line, "entities": list(tagger.entities(line, words))}
        sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
