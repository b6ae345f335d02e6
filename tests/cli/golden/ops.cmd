assay ops | sed -n "1,2p;/^Conv /p;/^Scan /p"
