# A layer that was added explains the change, which is still more than noise.
awk '/"relu"/ { next }
    match($0, /ProfilerStep.*"dur": /) { n = RSTART + RLENGTH
        $0 = substr($0, 1, n - 1) substr($0, n) - 300 "}," } { print }' \
    "$inputs/steady.json" | sed 'N;$!P;$!D;s/},\n]/}\n]/' >a.json
assay import a.json -o a.assay >/dev/null
assay import "$inputs/steady.json" -o b.assay >/dev/null
assay compare a.assay b.assay
