assay fingerprint fit --data "$inputs/device" --train tiny:0,40,80,small -o d.fp 2>&1 >/dev/null
assay fingerprint eval d.fp --data "$inputs/device" --nets deep,tiny:10..60 --json 2>/dev/null |
    sed 's/: [0-9][0-9.]*/: #/g'
assay fingerprint eval d.fp --data "$inputs/device" --plot d.pdf 2>/dev/null |
    sed 's/  [0-9.]* [kMG]*B$//; s/[0-9][0-9]*\.[0-9][0-9]*/#/g; s/  */ /g'
head -c 5 d.pdf
echo
