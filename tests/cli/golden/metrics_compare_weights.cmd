# Each of two models has its own weights.
assay prune squeezenet1_1 --percent 0 -o a.net >wrote || cat wrote
python3 - <<'END' # zeros for every parameter
import json, math, re
header, at = {}, 0
for line in open("a.net"):
    found = re.match(r"(?:parameter|buffer) (\S+) float32 (\S+)", line)
    if found:
        shape = [int(n) for n in found[2].split("x")]
        n = 4 * math.prod(shape)
        header[found[1]] = {"dtype": "F32", "shape": shape,
                            "data_offsets": [at, at + n]}
        at += n
text = json.dumps(header).encode()
for name in "a.safetensors", "b.safetensors":
    with open(name, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + bytes(at))
END
compare() {
    echo "== $*"
    assay metrics squeezenet1_1 --only model_size --short --json "$@" |
        grep '"weights"'
}
compare --compare squeezenet1_1 --weights a.safetensors
compare --compare squeezenet1_1 --compare-weights b.safetensors
compare --compare squeezenet1_1 -w a.safetensors --compare-weights b.safetensors
compare --weights a.safetensors --weights b.safetensors
compare -w a.safetensors --compare resnet18 -wb.safetensors
compare --compare-weights b.safetensors
compare --compare a.net --compare-weights b.safetensors
compare --compare vgg11 --compare resnet18
compare --compare resnet18 --set bogus=1
true
