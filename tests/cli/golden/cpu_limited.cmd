# Runs a model.
# Every processor that runs this has SSE4.1: kernels are limited to it, the screens
# say so, and peaks are remembered for it.
XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
unset ASSAY_CPU ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA
simd() {
    grep -o '"simd": "[^"]*"\|"machine.simd": "[^"]*"\|"is_cached": [a-z]*'
}
limited() {
    ASSAY_CPU=SSE4.1 assay "$@"
}
limited machine --threads 1 --json | simd
limited machine --threads 1 --json | simd
COLUMNS=200 limited run squeezenet1_1 --random --input size=64 --threads 1 --iters 1 --warmup 0 --plain \
    --explain -o small.assay >screen
sed -n 's/^machine .*, \([^,]*\)   peak .*/screen \1/p' screen
limited show small.assay --json | simd
grep -c 'sse41' screen | sed 's/[1-9][0-9]*/some/'
grep -c 'avx' screen
cut -s -d, -f2 assay/machine.txt | sort -u | grep SSE
# oneDNN's own limit is obeyed and shown.
ONEDNN_MAX_CPU_ISA=SSE41 assay machine --threads 1 --json | simd
ONEDNN_MAX_CPU_ISA=SSE41 assay machine --threads 1 | grep '^devices' | grep -o '(ONEDNN_.*)'
