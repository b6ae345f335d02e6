#!/bin/sh
# Runs both detectors at a small size under compute-sanitizer's memcheck and racecheck.
#
#   cuda_sanitize.sh CUDA_PARITY PHOTOGRAPH
#
# CUDA_SANITIZE_CHECKS names one of the two, ASSAY_PARITY_MODEL one detector.
# Exits with 77 where there is no compute-sanitizer or no GPU. COMPUTE_SANITIZER names
# it where it is not in PATH or under CUDA_HOME.
set -eu
program=$1
photograph=$2
tool=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || true)}
[ -n "$tool" ] || tool=${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer
if [ ! -x "$tool" ]; then
    echo "skipped: compute-sanitizer was not found"
    exit 77
fi
# Those of NVIDIA's own kernels take minutes.
for name in cudnn xmma cutlass gemm convolve Kernel sm80 sm90; do
    set -- "$@" --kernel-name-exclude "kernel_substring=$name"
done
shift 2
for check in ${CUDA_SANITIZE_CHECKS:-memcheck racecheck}; do
    status=0
    ASSAY_CUDA_TIMES=events ASSAY_PARITY_PRECISIONS=1 "$tool" --tool "$check" \
        --error-exitcode 9 "$@" "$program" 128 "$photograph" || status=$?
    case $status in
    0) echo "$check: nothing" ;;
    77) exit 77 ;;
    *)
        echo "$check: failed ($status)"
        exit 1
        ;;
    esac
done
