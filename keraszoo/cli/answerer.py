"""The command `ask`."""

import json
from typing import Annotated

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.cli.console import AsJson, Model
from keraszoo.errors import KerasZooError


def ask(
    model: Model,
    question: Annotated[str, Argument(metavar="QUESTION", help="The question, one sentence.")],
    story: Annotated[str, Argument(metavar="STORY", help="A file of sentences; stdin by default.")] = "-",
    hops: Annotated[
        bool, Option("--hops", help="Print the weights of each hop before each sentence.")
    ] = False,
    as_json: AsJson = False,
):
    """Answer a question about a story with one word."""
    from keraszoo.text.lines import read_lines

    sentences = [line for line in read_lines(story) if line.strip()]
    if not sentences:
        raise KerasZooError("expected a story of at least one sentence, got none")
    with console.results() as write:
        console.import_keras()
        from keraszoo.answering.question_answerer import QuestionAnswerer

        answer = QuestionAnswerer.from_preset(model).answer(sentences, question)
        weights = [[round(float(weight), 4) for weight in hop] for hop in answer.attention_weights]
        if as_json:
            values = {"answer": answer.text, "probability": answer.probability}
            write(
                [json.dumps({**values, "sentences": answer.sentences, "hops": weights}, ensure_ascii=False)]
            )
            return
        write([answer.text])
        if hops:
            columns = zip(*weights, strict=True)
            rows = (" ".join(f"{weight:.2f}" for weight in column) for column in columns)
            write(f"{row}  {sentence}" for row, sentence in zip(rows, answer.sentences, strict=True))
