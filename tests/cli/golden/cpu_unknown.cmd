# One line names the possible values, whatever the command.
for word in avx1024 avx AVX2,FMA; do
    ASSAY_CPU=$word assay version
    echo "exit $?"
done
ASSAY_CPU=avx1024 assay show nowhere.assay
echo "exit $?"
# An empty value counts as not set.
ASSAY_CPU= assay version >/dev/null
echo "exit $?"
