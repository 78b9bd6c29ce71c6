# Trains `biomedical_words`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/biomedical_words.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/free_text.py ${DATA} runs/words
python experiments/entities.py prepare ${DATA}
python experiments/word_vectors.py train biomedical
python experiments/word_vectors.py select biomedical
