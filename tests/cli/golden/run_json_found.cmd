# Runs a model.
# All weights are 0: both classes have 1/2, and the boxes are some of the
# anchors, in pixels of the photograph.
python3 "$inputs/make_weights.py"
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --json \
    --weights whole.safetensors --classes 2 --min-size 64 --iters 2 --warmup 0 >run.json
/usr/bin/python3 -c '
import json
found = json.load(open("run.json"))["found"]
print([photograph["photograph"] for photograph in found])
items = found[0]["items"]
print(len(items) > 0, {(i["label"], i["name"], i["score"]) for i in items})
print(all(0 <= x1 < x2 and 0 <= y1 < y2
          for x1, y1, x2, y2 in (i["box"] for i in items)))'
