"""The tabs Translate and Step by step."""

import math

import numpy as np

from keraszoo.text.subword_merging import join_pieces, merge_subwords

ALTERNATIVES = 10  # next words shown at a position


def translate(request, models, progress):
    """Translates a sentence; returns hypotheses and the attention between words."""
    translator = models.get(request.model, "translation", progress)
    progress("translating")
    width = request.beam_width
    search = {"beam_width": width, "num_hypotheses": width, "length_penalty": request.length_penalty}
    (translation,) = translator.translate_details([request.text], **search)
    return {
        "text": translation.text,
        "truncated": translation.truncated,
        "unknown": translation.unknown,
        "probability": math.exp(translation.log_prob),
        "hypotheses": [
            {"text": h.text, "probability": math.exp(h.log_prob), "score": round(h.score, 4)}
            for h in translation.hypotheses
        ],
        **_attention(translator, request.text, translation, progress, merged=True),
    }


def step(request, models, progress):
    """Continues a translation greedily; returns its subwords and what else could stand at each position."""
    translator = models.get(request.model, "translation", progress)
    progress("translating")
    (translation,) = translator.translate_details([request.text], prefix=[request.prefix], beam_width=1)
    progress("computing the next words")
    alternatives = translator.next_tokens([request.text], [translation.tokens], ALTERNATIVES)[0]
    return {
        "text": translation.text,
        "probability": math.exp(translation.log_prob),
        "forced": len(request.prefix),
        "tokens": translation.tokens,
        "alternatives": alternatives[: len(translation.tokens)],
        **_attention(translator, request.text, translation, progress, merged=False),
    }


def _attention(translator, text, translation, progress, merged):
    """Source and target, in words if `merged`, and the weights `[layer][head][target][source]` or None."""
    source, target = translation.source_tokens, translation.tokens
    shown = {"source": source, "target": target, "attention": None}
    if merged:
        shown = {"source": join_pieces(source)[0], "target": join_pieces(target)[0], "attention": None}
    if translator.model.attends and target:
        progress("computing the attention")
        layers = translator.align([text], [target], heads=True)[0][:, :, : len(target)]  # (L, H, T, S)
        if merged:
            layers = [[merge_subwords(source, target, head)[2] for head in heads] for heads in layers]
        shown["attention"] = np.round(np.array(layers, "float64"), 4).tolist()
    return shown
