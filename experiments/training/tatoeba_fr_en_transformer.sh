# Trains `tatoeba_fr_en_transformer`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_fr_en_transformer.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-fr.tsv.gz runs/tatoeba_en_fr
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_fr_transformer.yaml --set training.steps=3922
python experiments/tatoeba.py reverse runs/tatoeba_en_fr runs/tatoeba_fr_en
keraszoo train experiments/recipes/tatoeba_fr_en_transformer.yaml
