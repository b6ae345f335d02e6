# One line names what is possible, whatever the command.
for word in avx1024 avx AVX2,FMA; do
    ASSAY_CPU=$word assay version
    echo "exit $?"
done
ASSAY_CPU=avx1024 assay show nowhere.assay
echo "exit $?"
# Set to nothing it is not set.
ASSAY_CPU= assay version >/dev/null
echo "exit $?"
