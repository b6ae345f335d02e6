# A checkpoint whose pickle tries to call something.
python3 - <<'PY'
import os
import pickle
import zipfile


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


with zipfile.ZipFile("evil.pth", "w") as archive:
    archive.writestr("archive/data.pkl", pickle.dumps({"a": Evil()}, 2))
    archive.writestr("archive/version", "3\n")
PY
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --weights evil.pth --min-size 64 --iters 1 --warmup 0 --tune 0.01
code=$?
ls
exit $code
