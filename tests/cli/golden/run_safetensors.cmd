# One tensor fits and one does not; the others are missing.
python3 - <<'PY'
import json
import struct

size = 64 * 3 * 7 * 7 * 4
head = json.dumps({
    "backbone.body.conv1.weight": {"dtype": "F32", "shape": [64, 3, 7, 7],
                                   "data_offsets": [0, size]},
    "rpn.head.bbox_pred.bias": {"dtype": "F32", "shape": [3],
                                "data_offsets": [size, size + 12]}}).encode()
head += b" " * (-len(head) % 8)
with open("some.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(head)) + head + bytes(size + 12))
PY
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --weights some.safetensors --min-size 64 --iters 1 --warmup 0 --tune 0.01 2>problems
code=$?
grep unfit problems
tail -n 1 problems
exit $code
