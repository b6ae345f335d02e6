assay import "$inputs/small.json" -o file.assay
cat "$inputs/small.json" | assay import -
gzip -c "$inputs/small.json" | assay import - -o packed.assay
# A few bytes at a time, as a slow pipe has them.
{ head -c 3 "$inputs/small.json"; sleep 0.1; tail -c +4 "$inputs/small.json"; } |
    assay import /dev/stdin -o slow.assay
for run in run packed slow; do
    assay show file.assay --csv >1
    assay show $run.assay --csv | cmp - 1 && echo "$run is the same"
done
assay import - </dev/null
echo "exit $?"
head -c 40 "$inputs/small.json" | assay import - -o cut.assay
echo "exit $?"
ls
