echo old >out.txt
assay show missing.assay -o out.txt
echo "exit $?"
cat out.txt
ls
