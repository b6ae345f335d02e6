python3 - "$inputs/../../formats/keras/caffe_style_k3.keras" <<'END'
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as old:
    entries = {name: old.read(name) for name in old.namelist()}
for name, zeros in (("zipped.keras", b""), ("bomb.keras", bytes(50 << 20))):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as new:
        for entry, data in entries.items():
            new.writestr(entry, zeros if zeros and entry.endswith("h5") else data)
END
cp "$inputs/../../formats/keras/caffe_style_k3.keras" stored.keras
assay layers stored.keras | tail -n +2 >stored.txt
assay layers zipped.keras | tail -n +2 | diff stored.txt - && echo the same layers
assay layers bomb.keras
