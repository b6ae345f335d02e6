assay ops --json | sed -n "1,2p"
