#!/usr/bin/env bash
# assay run on a full disk: exit 3, one line that names the file, older files left
# as they were, nothing half-written. A limit on the size of files stands for a
# full disk: write() fails in the same way.
#
#   tests/cli/full_disk_test.sh build/assay
set -eu
program=$(realpath "$1")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/assay-disk-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir cache
XDG_CACHE_HOME=$scratch/cache
export XDG_CACHE_HOME

# Drawn, noise is larger than the run file.
/usr/bin/python3 - <<'PY'
import random
import struct
import zlib

def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))

side = 1000
head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
rows = b"".join(b"\0" + random.randbytes(3 * side) for _ in range(side))
with open("noise.png", "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
               chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))
PY

# refuse KILOBYTES FILE OPTION...: the run cannot write FILE.
refuse() {
    limit=$1
    file=$2
    shift 2
    echo old | tee run.assay >noise_targets.jpg
    code=0
    (ulimit -f "$limit" && exec "$program" run faster-rcnn noise.png \
        --min-size 64 --iters 1 --warmup 0 --tune 0.01 "$@") >../out 2>../err ||
        code=$?
    if [ "$code" -ne 3 ] || [ "$(wc -l <../err)" -ne 1 ] || [ -s ../out ] ||
        ! grep -q "^assay: writing $file.*: " ../err; then
        echo "with files of at most $limit kB, $*: exit $code"
        cat ../out ../err
        exit 1
    fi
    if [ "$(echo *)" != "noise.png noise_targets.jpg run.assay" ] ||
        [ "$(cat run.assay noise_targets.jpg)" != "$(printf 'old\nold')" ]; then
        echo "with files of at most $limit kB, $*: older files have changed"
        ls -l
        exit 1
    fi
}

mkdir here
mv noise.png here
cd here
refuse 700 noise.2_targets.jpg --score 0
refuse 700 ./noise.2_targets.jpg --score 0 --drawn .
refuse 16 run.assay
refuse 100 run.assay # enough for the checkpoint, not for the end

# Measuring the times of layers needs no file anywhere.
code=0
set -o pipefail
(ulimit -f 0 && TMPDIR=/nowhere exec "$program" layers resnet50 --run \
    --input size=32 --iters 1 --json) | cat >../out 2>../err || code=$?
if [ "$code" -ne 0 ] || ! grep -q '"mean_ns": [0-9]' ../out; then
    echo "layers with nowhere to write: exit $code"
    cat ../err
    exit 1
fi
echo "every limit was reported"
