# Two commands in turn. These copy runs that exist, so that the result does not
# depend on the machine; what depends on it is cut away.
assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
assay compare --fail-above 5% -- cp a.assay {} -- cp b.assay {} |
    sed 's/ in [0-9.]* m*s$//'
echo
assay compare --fail-above 5% --pairs 2 --limit 1min --runs kept -- cp a.assay {} \
    -- sh -c 'cp a.assay "$ASSAY_RUN_FILE"' | sed -n 's/ in [0-9.]* m*s$//; 1,3p; $p'
ls kept
# By their wall time: one takes three times as long.
assay compare --pairs 4 -- sleep 0.02 -- sleep 0.06 | sed -n '/^[AB] /p; s/ in [0-9.]* m*s$//p'
