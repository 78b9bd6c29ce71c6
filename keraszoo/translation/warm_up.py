"""Sentences that make XLA compile its programs before the first real one comes."""

from keraszoo.translation.compiled_search import COLUMNS


def warm_up_texts(translator):
    """Texts of one repeated word, one for each length of `COLUMNS`, for a `Translator`: a list of str."""
    subwords, limit = translator.source_subwords, translator.max_source_tokens
    words = [word for word in subwords.decode([[i] for i in range(subwords.vocabulary_size)]) if word.strip()]
    together = subwords.encode([f"{word} {word}" for word in words])
    word = next((word for word, ids in zip(words, together, strict=True) if len(ids) == 2), words[-1])
    lengths = sorted({min(columns - 1, limit) for columns in COLUMNS})  # without `</s>`
    return [" ".join([word] * length) for length in lengths]


def write_requests(directory, batches):
    """Writes requests, dicts of input name -> array, that TensorFlow Serving sends before it serves."""
    import tensorflow as tf

    path = directory / "assets.extra" / "tf_serving_warmup_requests"
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for inputs in batches:
            writer.write(prediction_log(inputs))


def prediction_log(inputs):
    """A serialized `tensorflow.serving.PredictionLog` with a request for predictions.

    Its classes are in `tensorflow-serving-api`. The four messages on the way to the tensors have only fields
    of bytes here, so we write these: `PredictionLog.predict_log` (6), `PredictLog.request` (1),
    `PredictRequest.model_spec` (1) and `inputs` (2), a map, and `ModelSpec.signature_name` (3).
    """
    import tensorflow as tf

    def field(number, content):
        size, length = len(content), bytearray()
        while size > 127:  # a varint: seven bits per byte, the lowest first
            length.append(size & 127 | 128)
            size >>= 7
        return bytes([number << 3 | 2, *length, size]) + content

    request = field(1, field(3, b"serving_default"))
    for name, value in inputs.items():
        tensor = tf.make_tensor_proto(value).SerializeToString()
        request += field(2, field(1, name.encode()) + field(2, tensor))
    return field(6, field(1, request))
