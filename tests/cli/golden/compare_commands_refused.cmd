assay import "$inputs/steady.json" -o a.assay >/dev/null
assay compare -- cp a.assay {} --
assay compare --a a.assay -- cp a.assay {} -- cp a.assay {}
assay compare -- cp a.assay {} -- true
assay compare -- true -- no-such-program
assay compare -- true -- sh -c 'echo first; echo out of milk >&2; exit 4'
echo "exit $?"
assay compare -- true -- sh -c 'kill -9 $$'
