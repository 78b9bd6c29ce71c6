"""Temperature scaling of a tagger: probabilities that are right on average."""

import math

from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.models.trained_scores import scale_scores, with_tags
from keraszoo.saving.weights import without_lora
from keraszoo.tagging.corpora import part_of
from keraszoo.tagging.sentence_tagger import BATCH_TOKENS
from keraszoo.tagging.training import sentences_of
from keraszoo.training.tag_batches import TagBatches, TaggedRows

LEAST, MOST = 0.05, 20.0


def calibrate(tagger, sentences, corpus):
    """Divides the scores of a tagger by `best_temperature`, and returns it; see `EntityTagger.calibrate`."""
    scores = tagger.model.head.scores
    if scores.quantization_mode or scores.lora_enabled:
        raise KerasZooError(
            "calibrate: the scores of tags are quantized or have LoRA; calibrate before `quantize`, and with "
            "LoRA after the tagger is saved and read again"
        )
    if corpus is None and not tagger.corpora:
        vocabulary, own = tagger.vocabulary, range(len(tagger.vocabulary.tags))
        model = with_tags(without_lora(tagger.model), own, vocabulary.transitions())
    else:
        model, vocabulary, own = part_of(tagger, corpus)
    rows = TaggedRows(sentences_of(sentences), vocabulary, model.features)
    batches = TagBatches(rows, max(BATCH_TOKENS, rows.longest), shuffle=False, shapes=None)
    temperature = best_temperature(model, (batches.batch(0, i) for i in range(len(batches))))
    scale_scores(tagger.model, 1 / temperature, own)
    return temperature


def best_temperature(model, batches):
    """Finds the temperature T, from 0.05 to 20, at which tagged sentences are likeliest.

        p_T(y | x) ~ exp(s(x, y) / T)        T = argmax_T sum log p_T(y | x)

    `model` is an uncompiled `TaggingModel`, the weights of whose CRF are changed; `batches` are features,
    tags and weights, which are not used.

    Reference: Guo et al.: On Calibration of Modern Neural Networks, 2017, section 4.2,
    https://arxiv.org/abs/1706.04599.
    """
    from scipy.optimize import minimize_scalar

    read = [(features, tags, model(features)) for features, tags, _ in batches]
    chain = [(weight, ops.copy(weight)) for weight in (model.head.chain.weights if model.head.chain else ())]

    def loss(log_temperature):
        factor = math.exp(-log_temperature)
        for weight, value in chain:
            weight.assign(factor * value)
        losses = (
            model.compute_loss(features, tags, factor * scores, ops.ones(tags.shape, "float32"))
            for features, tags, scores in read
        )
        return sum(map(float, losses))

    bounds = math.log(LEAST), math.log(MOST)
    return math.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01}).x)
