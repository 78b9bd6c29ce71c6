"""The tab Ask."""

import numpy as np


def ask(request, models, progress):
    """Answers a question; returns the sentences in the memory and the attention of each hop over them."""
    answerer = models.get(request.model, "question answering", progress)
    story = [line.strip() for line in request.story.splitlines() if line.strip()]
    progress("reading the story")
    answer = answerer.answer(story, request.question)
    return {
        "answer": answer.text,
        "probability": answer.probability,
        "sentences": answer.sentences,
        "hops": np.round(answer.attention_weights.astype("float64"), 4).tolist(),
    }
