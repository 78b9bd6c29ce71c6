"""Arguments and options that more than one command has."""

from typing import Annotated

from typer import Argument, Option

Model = Annotated[str, Argument(metavar="MODEL", help="A model directory, or a shipped model's name.")]
Beam = Annotated[int | None, Option("--beam-width", min=1, help="Hypotheses kept at a time; 1 is greedy.")]
Penalty = Annotated[
    float | None, Option("--length-penalty", min=0.0, help="0: none, which favours short ones.")
]
MaxLength = Annotated[int | None, Option("--max-length", min=1, help="Most subwords of a translation.")]
BatchSize = Annotated[int | None, Option("--batch-size", min=1, help="Sentences translated at a time.")]
