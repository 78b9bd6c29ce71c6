# Trains `english_entities_minilm`. DATA is the folder of the corpora, BACKBONE the encoder, as in a recipe.
#   DATA=FOLDER BACKBONE=hf://sentence-transformers/all-MiniLM-L6-v2 bash experiments/training/english_entities_minilm.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}" "${BACKBONE:?the pretrained encoder}"
cd "$(dirname "$0")/../.."

python experiments/entities.py prepare ${DATA}
python experiments/crf_per_corpus.py --crfs each --backbone ${BACKBONE} --epochs 2 --repeats 2 --output runs/minilm
python experiments/opinion_pool.py runs/minilm --corpora wikigold gmb --validation runs/entities/english/validation_wikigold.tsv \
    --int8 --output runs/english_entities_minilm
