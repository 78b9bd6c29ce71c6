"""Translates with NumPy, onnxruntime and sentencepiece: python translate.py < lines > translated_lines"""

import json
import sys
from pathlib import Path

import numpy as np


class Translator:
    """Translates by greedy search with the folder that `keraszoo export MODEL FOLDER --format onnx` wrote."""

    def __init__(self, folder):
        from onnxruntime import InferenceSession
        from sentencepiece import SentencePieceProcessor

        self.about = json.loads(Path(folder, "keraszoo.json").read_text("utf-8"))
        sides = [
            SentencePieceProcessor(model_file=str(Path(folder, name))) for name in self.about["subwords"]
        ]
        self.source, self.target = sides[0], sides[-1]
        self.graphs = {file.stem: InferenceSession(str(file)) for file in Path(folder).glob("*.onnx")}

    def translate(self, texts):
        """The translation of each text; that of a blank one is blank."""
        limit, end = self.about["max_source_tokens"], self.source.eos_id()
        rows = [[*self.known(row[:limit]), end] if row else [] for row in self.source.encode(list(texts))]
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        translations = [""] * len(rows)
        for some in (order[i : i + 64] for i in range(0, len(order), 64)):
            source = np.full((len(some), len(rows[some[-1]])), self.source.pad_id(), "int32")
            for row, i in zip(source, some, strict=True):
                row[: len(rows[i])] = rows[i]
            for i, ids in zip(some, self.search(source), strict=True):
                translations[i] = self.target.decode(ids).strip(" ")
        return translations

    def known(self, row):
        """The ids of a text; the pieces after the end of the vocabulary, if it has one, are unknown."""
        unknown, end = self.source.unk_id(), self.source.piece_to_id("<end of vocabulary>")
        return [id_ if id_ < end or end == unknown else unknown for id_ in row]

    def search(self, source):
        """Greedy search: `(B, S)` source ids to B lists of target ids."""
        state, tokens = self.run("encode", {"source": source}), []
        last, end = np.full(len(source), self.target.bos_id(), "int32"), self.target.eos_id()
        while len(tokens) < self.about["max_length"] and (last != end).any():
            if "lengthen" in self.graphs and tokens and len(tokens) % self.about["room"] == 0:
                state |= self.run("lengthen", state)
            state |= self.run("step", {"tokens": last, **state})
            logits = state.pop("logits")
            logits[:, [self.target.pad_id(), self.target.bos_id()]] = -np.inf  # are never written
            last = np.where(last == end, end, logits.argmax(axis=1)).astype("int32")
            tokens.append(last)
        return [row[: row.index(end)] if end in row else row for row in np.transpose(tokens).tolist()]

    def run(self, name, feed):
        """The outputs of a graph by name."""
        graph = self.graphs[name]
        outputs = graph.run(None, {one.name: feed[one.name] for one in graph.get_inputs()})
        names = [one.name.removeprefix("next_") for one in graph.get_outputs()]
        return dict(zip(names, outputs, strict=True))


if __name__ == "__main__":
    lines = [line.decode().rstrip("\r\n") for line in sys.stdin.buffer]
    for text in Translator(Path(__file__).parent).translate(lines):
        sys.stdout.buffer.write(f"{text}\n".encode())
