# Trains `biomedical_entities`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/biomedical_entities.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/free_text.py ${DATA} runs/words
python experiments/entities.py prepare ${DATA}
keraszoo vectors convert biomedical_words --words 47000 --dtype float16 --output runs/biomedical_47k
python experiments/language_model.py runs/biomedical_encoder --corpora biomedical --vectors runs/biomedical_47k \
    --text runs/words/biomedical/abstracts.txt:2 --text runs/words/biomedical/fulltext.txt:6 \
    --text ${DATA}/medquad/medquad.txt.gz --text ${DATA}/craft/craft.txt.gz
python experiments/crf_per_corpus.py --crfs each --corpora biomedical --start runs/biomedical_encoder --epochs 20 \
    --output runs/biomedical_before
# A wider teacher; it needs JAX.
keraszoo vectors convert biomedical_words --words 40000 --dtype float16 --output runs/biomedical_40k
KERAS_BACKEND=jax python experiments/language_model.py runs/wide_encoder --corpora biomedical --vectors runs/biomedical_40k \
    --units 400 --passes 3 --batch-tokens 16384 --learning-rate 0.003 --text runs/words/biomedical/abstracts.txt \
    --text runs/words/biomedical/fulltext.txt:2 --text runs/words/biomedical/medquad.txt --text runs/words/biomedical/craft.txt
python experiments/crf_per_corpus.py --crfs each --corpora biomedical --start runs/wide_encoder --epochs 20 --output runs/biomedical_wide
# Both tag untagged text, from which the first one learns, and then from the corpora again.
python experiments/recased_text.py runs/words/biomedical/abstracts.txt runs/recased.txt --like ${DATA}/medquad/medquad.txt.gz \
    ${DATA}/craft/craft.txt.gz --tagged runs/entities/bc5cdr/train.tsv runs/entities/ncbi_disease/train.tsv
python experiments/consensus.py runs/biomedical_before runs/biomedical_wide --corpora bc5cdr --without-misc --context 10 \
    --text runs/recased.txt --text ${DATA}/medquad/medquad.txt.gz --text ${DATA}/craft/craft.txt.gz --output runs/more_bc5cdr.tsv
python experiments/consensus.py runs/biomedical_before runs/biomedical_wide --corpora ncbi_disease --without-misc \
    --text runs/recased.txt:3 --text ${DATA}/medquad/medquad.txt.gz:3 --text ${DATA}/craft/craft.txt.gz:3 \
    --output runs/more_ncbi_disease.tsv
python experiments/crf_per_corpus.py --crfs each --corpora biomedical --start runs/biomedical_before \
    --more bc5cdr=runs/more_bc5cdr.tsv ncbi_disease=runs/more_ncbi_disease.tsv --epochs 1 --learning-rate 0.002 \
    --output runs/biomedical_more
python experiments/crf_per_corpus.py --crfs each --corpora biomedical --start runs/biomedical_more --epochs 12 \
    --learning-rate 0.002 --output runs/biomedical_last
python experiments/mean_weights.py runs/biomedical_last --vectors biomedical_words --output runs/biomedical_entities
