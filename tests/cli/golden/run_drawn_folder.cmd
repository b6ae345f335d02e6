# Runs a model.
run() {
    assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 --score 0 "$@"
}
echo "the folder is made"
run --drawn here/and/there >/dev/null
ls here/and/there
echo "another run's drawing and a file of the user's stay"
run --drawn here/and/there -o other.assay >/dev/null
echo mine >coffee_targets.jpg
run -o third.assay | sed -n 's/[0-9.]* MB/N MB/; /^wrote/p'
cat coffee_targets.jpg
ls here/and/there
echo "a report has the drawings of its own run"
for name in run other third; do
    assay report $name.assay --pictures=here/and/there -o $name.html >/dev/null
    grep -o '"pictures":\[[^]]\{0,30\}' $name.html | grep -o 'coffee[^"]*'
done
echo "what is no folder is refused"
run --drawn coffee_targets.jpg
echo "exit $?"
