# The options of `show` that no other case uses.
assay import "$inputs/small.json" -o run.assay >/dev/null
show() {
    echo "== $*"
    assay show run.assay "$@"
}
show --tree=plain --depth 1
show --tree --hide-below 15% | grep -c relu
show --tree --hide-below 15% --all | grep -c relu
show --csv --sort name -n2 | cut -d, -f1
show --csv -s total | cut -d, -f1
show --table=plain --by class
show --table=plain --by name
show --table=plain --iterations 1..
show --table=plain --iterations ..0 --thread main
show --csv | cut -d, -f1-5
show --md --limit 1 | cut -d'|' -f1-5
show --json | grep '"measured"'
show | grep '^latency'
show --memory
