# Trains `tatoeba_en_fr_rnnsearch`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_en_fr_rnnsearch.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

# runs/tatoeba_en_fr_more/train.tsv is written by the third round of tatoeba_en_fr_transformer.sh.
python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-fr.tsv.gz runs/tatoeba_en_fr
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_fr_rnnsearch.yaml --set training.steps=9826
keraszoo train experiments/recipes/tatoeba_en_fr_rnnsearch.yaml --set 'data.train={tsv: runs/tatoeba_en_fr_more/train.tsv}' \
    --set model.start_from=runs/tatoeba_en_fr_rnnsearch --set training.precision=mixed_bfloat16 \
    --set 'subwords={model: runs/tatoeba_en_fr_rnnsearch/joint.model}' --set model.overrides.dropout=0.1 \
    --set training.monitor=val_bleu --set training.batch_tokens=4096 --set training.steps=4500 \
    --set training.steps_per_evaluation=500 --set training.average_last=3 --set training.optimizer.schedule=cosine \
    --set training.optimizer.learning_rate=0.001 --set training.optimizer.warmup_steps=300 --output runs/tatoeba_en_fr_rnnsearch_more
python experiments/wider_rnnsearch.py runs/tatoeba_en_fr_rnnsearch_more 384 runs/tatoeba_en_fr_rnnsearch_wider
keraszoo train experiments/recipes/tatoeba_en_fr_rnnsearch.yaml --set 'data.train={tsv: runs/tatoeba_en_fr_more/train.tsv}' \
    --set model.start_from=runs/tatoeba_en_fr_rnnsearch_wider --set training.precision=mixed_bfloat16 \
    --set 'subwords={model: runs/tatoeba_en_fr_rnnsearch_wider/joint.model}' --set 'model.overrides={units: 384, dropout: 0.1, scale_embeddings: false}' \
    --set training.monitor=val_bleu --set training.batch_tokens=4096 --set training.steps=5600 \
    --set training.steps_per_evaluation=560 --set training.average_last=3 --set training.optimizer.schedule=cosine \
    --set training.optimizer.learning_rate=0.0015 --set training.optimizer.warmup_steps=300 --output runs/tatoeba_en_fr_rnnsearch_wide
