# Trains `english_words`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/english_words.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

# 55,000 of the included vectors come from an earlier training on nearly the same text. `select general --onto FOLDER`
# turned the others to fit them.
python experiments/free_text.py ${DATA} runs/words
python experiments/entities.py prepare ${DATA}
python experiments/word_vectors.py train general
python experiments/word_vectors.py select general
