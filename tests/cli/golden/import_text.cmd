echo 'Dear diary, this is not a trace.' >text.json
assay import text.json
echo "exit $?"
ls
