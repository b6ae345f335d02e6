assay import "$inputs/small.json" -o run.assay >/dev/null
mkdir drawn
printf 'first' >drawn/dog_targets.jpg
printf 'second' >drawn/street_targets.jpg
printf 'other' >drawn/street.jpg
assay report run.assay --pictures=drawn -o report.html >/dev/null
grep -o '"pictures":[^]]*]' report.html
assay report run.assay --pictures=nowhere -o none.html
echo "exit $?"
ls
