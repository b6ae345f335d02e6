# Runs a model.
# Images per second take the batch into account, whether it is swept or not. A
# single point is not compared.
assay run squeezenet1_1 --random --input size=64 --iters 4 --tune 0.01 \
    --batch 2 --sweep threads=1 >table
LC_ALL=C awk '$1 == 1 { sub(/\[[^]]*\]| - /, " ")
               n = $2 * $3 * ($4 == "k" ? 1 : 0.001)
               print (n > 1.95 && n < 2.05) ? "of 2" : "of " n }
     $1 == "next"' table
