# Trains `tatoeba_en_de_rnnsearch`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_en_de_rnnsearch.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

# runs/tatoeba_en_de_more/train.tsv is written by tatoeba_en_de_transformer.sh: for the third and fourth training by its second
# round, for the last one by its third.
python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-de.tsv.gz runs/tatoeba_en_de
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_de_rnnsearch.yaml --set training.steps=9907
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_de_transformer.yaml
keraszoo distil runs/tatoeba_en_de_transformer --recipe experiments/recipes/tatoeba_en_de_rnnsearch.yaml --engine ctranslate2 \
    --set model.start_from=runs/tatoeba_en_de_rnnsearch --set 'subwords={model: runs/tatoeba_en_de_rnnsearch/joint.model}' \
    --set model.overrides.dropout=0.2 --set training.monitor=val_bleu --set training.batch_tokens=2048 \
    --set training.epochs=12 --set training.average_last=4 --set training.optimizer.learning_rate=0.001 \
    --set training.optimizer.warmup_steps=500 --output runs/tatoeba_en_de_rnnsearch_distilled
keraszoo train experiments/recipes/tatoeba_en_de_rnnsearch.yaml --set 'data.train={tsv: runs/tatoeba_en_de_more/train.tsv}' \
    --set model.start_from=runs/tatoeba_en_de_rnnsearch_distilled --set training.precision=mixed_bfloat16 \
    --set 'subwords={model: runs/tatoeba_en_de_rnnsearch_distilled/joint.model}' --set model.overrides.dropout=0.1 \
    --set training.monitor=val_bleu --set training.batch_tokens=4096 --set training.steps=4500 \
    --set training.steps_per_evaluation=500 --set training.average_last=3 --set training.optimizer.schedule=cosine \
    --set training.optimizer.learning_rate=0.001 --set training.optimizer.warmup_steps=300 --output runs/tatoeba_en_de_rnnsearch_more
python experiments/wider_rnnsearch.py runs/tatoeba_en_de_rnnsearch_more 384 runs/tatoeba_en_de_rnnsearch_wider
keraszoo train experiments/recipes/tatoeba_en_de_rnnsearch.yaml --set 'data.train={tsv: runs/tatoeba_en_de_more/train.tsv}' \
    --set model.start_from=runs/tatoeba_en_de_rnnsearch_wider --set training.precision=mixed_bfloat16 \
    --set 'subwords={model: runs/tatoeba_en_de_rnnsearch_wider/joint.model}' --set 'model.overrides={units: 384, dropout: 0.1, scale_embeddings: false}' \
    --set training.monitor=val_bleu --set training.batch_tokens=4096 --set training.steps=5600 \
    --set training.steps_per_evaluation=560 --set training.average_last=3 --set training.optimizer.schedule=cosine \
    --set training.optimizer.learning_rate=0.0015 --set training.optimizer.warmup_steps=300 --output runs/tatoeba_en_de_rnnsearch_wide
python experiments/wider_rnnsearch.py runs/tatoeba_en_de_rnnsearch_wide 512 runs/tatoeba_en_de_rnnsearch_512
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_de_rnnsearch.yaml --set 'data.train={tsv: runs/tatoeba_en_de_more/train.tsv}' \
    --set model.start_from=runs/tatoeba_en_de_rnnsearch_512 --set training.precision=mixed_bfloat16 \
    --set 'subwords={model: runs/tatoeba_en_de_rnnsearch_512/joint.model}' --set 'model.overrides={units: 512, dropout: 0.2, scale_embeddings: false}' \
    --set training.shapes=3 --set training.steps=16600 --set training.steps_per_evaluation=1660 --set training.average_last=1 \
    --set training.optimizer.schedule=cosine --set training.optimizer.learning_rate=0.0015 --set training.optimizer.warmup_steps=500 \
    --output runs/tatoeba_en_de_rnnsearch_widest
