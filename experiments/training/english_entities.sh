# Trains `english_entities`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/english_entities.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/entities.py prepare ${DATA}
keraszoo vectors convert english_words --words 47000 --dtype float16 --output runs/english_47k
python experiments/crf_per_corpus.py --crfs each --vectors runs/english_47k --attention-heads 4 --epochs 6 --repeats 4 \
    --learning-rate 0.002 --output runs/english_a
python experiments/crf_per_corpus.py --crfs each --vectors runs/english_47k --attention-heads 4 --epochs 6 --repeats 4 \
    --learning-rate 0.002 --cases 0.05 --output runs/english_b
xz -dc ${DATA}/wikipedia/articles2014.txt.xz > runs/wikipedia.txt
python experiments/consensus.py runs/english_a runs/english_b --text ${DATA}/wikinews/wikinews_2019_2020.txt.gz \
    --tagged runs/entities/english/train_gmb.tsv:3 --text runs/wikipedia.txt:40 --output runs/general_first.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/english_b --general runs/general_first.tsv --epochs 2 --repeats 2 \
    --learning-rate 0.001 --cases 0.05 --output runs/english_first
python experiments/crf_per_corpus.py --crfs each --vectors runs/english_47k --attention-heads 4 --epochs 6 --repeats 4 \
    --learning-rate 0.002 --cases 0.05 --seed 2 --output runs/english_c
python experiments/crf_per_corpus.py --crfs each --vectors runs/english_47k --epochs 6 --repeats 4 \
    --learning-rate 0.002 --cases 0.05 --seed 3 --output runs/english_d
python experiments/consensus.py runs/english_first runs/english_c runs/english_d --corpora general wikigold gmb web \
    --text ${DATA}/wikinews/wikinews_2019_2020.txt.gz --tagged runs/entities/english/train_gmb.tsv:2 \
    --text runs/wikipedia.txt:35 --output runs/general.tsv
python experiments/consensus.py runs/english_first runs/english_c runs/english_d --corpora btc --without-misc \
    --tagged runs/entities/english/train_wnut17.tsv --tagged runs/entities/english/train_web.tsv --output runs/btc_more.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/english_first --general runs/general.tsv --more btc=runs/btc_more.tsv \
    --epochs 2 --repeats 3 --learning-rate 0.001 --cases 0.05 --output runs/english_second
python experiments/free_text.py ${DATA} runs/words
python experiments/language_model.py runs/general_encoder --vectors runs/english_47k --attention-heads 4 \
    --text runs/words/general/articles2014.txt:2 --text runs/words/general/core.txt:2 \
    --text runs/words/general/wikinews_2019_2020.txt
python experiments/consensus.py runs/english_second --corpora general wikigold gmb web \
    --text ${DATA}/wikinews/wikinews_2019_2020.txt.gz --tagged runs/entities/english/train_gmb.tsv:2 \
    --text runs/wikipedia.txt:35 --output runs/general_third.tsv
python experiments/consensus.py runs/english_second --corpora btc --without-misc \
    --tagged runs/entities/english/train_wnut17.tsv --tagged runs/entities/english/train_web.tsv --output runs/btc_third.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/general_encoder --general runs/general_third.tsv \
    --more btc=runs/btc_third.tsv --epochs 4 --repeats 4 --learning-rate 0.002 --cases 0.05 --output runs/english_third
python experiments/consensus.py runs/english_second runs/english_third --corpora general wikigold gmb web \
    --text ${DATA}/wikinews/wikinews_2019_2020.txt.gz --tagged runs/entities/english/train_gmb.tsv:2 \
    --text runs/wikipedia.txt:35 --output runs/general_fourth.tsv
python experiments/consensus.py runs/english_second runs/english_third --corpora btc --without-misc \
    --tagged runs/entities/english/train_wnut17.tsv --tagged runs/entities/english/train_web.tsv --output runs/btc_fourth.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/english_third --general runs/general_fourth.tsv \
    --more btc=runs/btc_fourth.tsv --epochs 2 --repeats 3 --learning-rate 0.001 --cases 0.05 --output runs/english_fourth
words='{n = 0; for (i = 1; i <= NF; i++) {sub(/_[^_]*$/, "", $i); n += $i != ""}}
       n > 2 && n < 81 {for (i = 1; i <= NF; i++) if ($i != "") print $i "\tO"; print ""}'
cd runs/words/general/masc/written
cat *.txt | awk "$words" > ../../../../masc_written.tsv
cat {tweets,blog,lessig,lists,jokes,ENRON,enron,Acephal,Effing,How_soon,Ferment,Uproot,anth,sucker,hotel}* | awk "$words" \
    > ../../../../masc_posts.tsv
cd ../../../../..
python experiments/consensus.py runs/english_second runs/english_fourth --corpora general wikigold gmb web \
    --tagged runs/masc_written.tsv --text ${DATA}/wikinews/wikinews_2019_2020.txt.gz \
    --tagged runs/entities/english/train_gmb.tsv:3 --text runs/words/general/articles2014.txt:29 --output runs/general_fifth.tsv
python experiments/consensus.py runs/english_second runs/english_fourth --corpora btc --without-misc \
    --tagged runs/masc_posts.tsv --tagged runs/entities/english/train_wnut17.tsv \
    --tagged runs/entities/english/train_web.tsv --output runs/btc_fifth.tsv
python experiments/consensus.py runs/english_second runs/english_fourth --corpora wnut17 --without-misc \
    --tagged runs/masc_posts.tsv --tagged runs/entities/english/train_btc.tsv --output runs/wnut17_fifth.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/english_fourth --general runs/general_fifth.tsv \
    --more btc=runs/btc_fifth.tsv wnut17=runs/wnut17_fifth.tsv --epochs 2 --repeats 3 --learning-rate 0.001 --cases 0.05 \
    --output runs/english_fifth
python experiments/consensus.py runs/english_second runs/english_fourth runs/english_fifth --corpora general wikigold gmb web \
    --tagged runs/masc_written.tsv --text ${DATA}/wikinews/wikinews_2019_2020.txt.gz \
    --tagged runs/entities/english/train_gmb.tsv:3 --text runs/words/general/articles2014.txt:9 --output runs/general_sixth.tsv
python experiments/consensus.py runs/english_second runs/english_fourth runs/english_fifth --corpora btc --without-misc \
    --tagged runs/masc_posts.tsv --tagged runs/entities/english/train_wnut17.tsv \
    --tagged runs/entities/english/train_web.tsv --output runs/btc_sixth.tsv
python experiments/consensus.py runs/english_second runs/english_fourth runs/english_fifth --corpora wnut17 --without-misc \
    --tagged runs/masc_posts.tsv --tagged runs/entities/english/train_btc.tsv --output runs/wnut17_sixth.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/english_fifth --general runs/general_sixth.tsv \
    --more btc=runs/btc_sixth.tsv wnut17=runs/wnut17_sixth.tsv --epochs 1 --repeats 3 --learning-rate 0.001 --cases 0.05 \
    --output runs/english_sixth
python experiments/consensus.py runs/english_second runs/english_fourth runs/english_fifth runs/english_sixth --corpora web \
    --without-misc --tagged runs/masc_posts.tsv \
    --tagged runs/entities/english/train_btc.tsv --tagged runs/entities/english/train_wnut17.tsv \
    --tagged runs/masc_written.tsv:2 --output runs/web_seventh.tsv
python experiments/consensus.py runs/english_second runs/english_fourth runs/english_fifth runs/english_sixth --corpora btc \
    --without-misc --tagged runs/masc_posts.tsv --tagged runs/entities/english/train_wnut17.tsv \
    --tagged runs/entities/english/train_web.tsv --output runs/btc_seventh.tsv
python experiments/consensus.py runs/english_second runs/english_fourth runs/english_fifth runs/english_sixth --corpora wnut17 \
    --without-misc --tagged runs/masc_posts.tsv --tagged runs/entities/english/train_btc.tsv --output runs/wnut17_seventh.tsv
awk 'BEGIN {RS = ""; ORS = "\n\n"} NR % 3 == 1' runs/general_sixth.tsv > runs/general_third.tsv
python experiments/crf_per_corpus.py --crfs each --start runs/english_sixth --general runs/general_third.tsv \
    --more btc=runs/btc_seventh.tsv wnut17=runs/wnut17_seventh.tsv web=runs/web_seventh.tsv \
    --epochs 1 --repeats 4 --learning-rate 0.0005 --cases 0.05 --seed 2 --output runs/english_seventh
python experiments/mean_weights.py runs/english_sixth runs/english_seventh --vectors english_words --words 90000 \
    --output runs/english_entities
