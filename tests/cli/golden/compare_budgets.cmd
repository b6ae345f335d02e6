assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
gate() {
    assay compare a.assay b.assay --budgets budgets.toml "$@" >/dev/null
    echo "exit $?"
}
# Planted: conv takes 20 % longer, and thereby the whole 13 %.
printf '[budget]\ndefault = "15%%"\nconv = "25%%"\n' >budgets.toml
gate
printf '[budget]\nconv = "10%%"\n' >budgets.toml
gate --fail-above 50%
printf '[budget]\nconv = "30%%"\n' >budgets.toml
gate --fail-above 15%
printf '[budget]\nconv = often\n' >budgets.toml
gate
