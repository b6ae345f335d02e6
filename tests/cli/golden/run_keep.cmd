# Runs a model.
for keep in all 2; do
    assay run squeezenet1_1 --random -n 6 --input size=64 --keep $keep >/dev/null
    assay trace run.assay | grep holds
done
assay run squeezenet1_1 --random --keep some
echo "exit $?"
