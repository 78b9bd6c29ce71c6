# Trains `english_entities_minilm`. DATA is the folder of the corpora, BACKBONE the encoder, as in a recipe.
#   DATA=FOLDER BACKBONE=hf://sentence-transformers/all-MiniLM-L6-v2 bash experiments/training/english_entities_minilm.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}" "${BACKBONE:?the pretrained encoder}"
cd "$(dirname "$0")/../.."

python experiments/entities.py prepare ${DATA}
python experiments/crf_per_corpus.py --crfs each --backbone ${BACKBONE} --epochs 2 --repeats 2 --learning-rate 5.0e-5 \
    --output runs/minilm_first
xz -dc ${DATA}/wikipedia/articles2014.txt.xz > runs/wikipedia.txt
python experiments/consensus.py english_entities runs/minilm_first --corpora general wikigold gmb web \
    --text ${DATA}/wikinews/wikinews_2019_2020.txt.gz --text runs/wikipedia.txt:80 --output runs/minilm_general.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/minilm_first --general runs/minilm_general.tsv --epochs 2 --repeats 2 \
    --learning-rate 2.0e-4 --output runs/minilm_second
python experiments/mean_weights.py runs/minilm_second runs/minilm_first --int8 --output runs/english_entities_minilm
