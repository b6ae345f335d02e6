# Measured once, then remembered; the numbers depend on the machine.
XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
shape() {
    grep -o '"is_cached": [a-z]*\|"threads": [0-9]*'
}
assay machine --threads 1 --json | shape
assay machine --threads 1 --json | shape
assay machine --threads 1 --json --refresh | shape
head -n 1 assay/machine.txt
assay machine --threads 1 | grep -o '^ *\(peaks\|compute\|memory read\|memory write\|memory copy\|launch\|balance\)'
