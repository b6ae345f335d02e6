# Runs a model.
# Skipped tests did not fail; parts say how to merge them.
printf "[create_network_dataset]\nnetworks= ['squeezenet1_1']\npruning_perc= [90]\nmodel_path= nets\n[profile]\nstage= 'inference'\nprofile_variables= 'latency'\nbs= [1,2]\nrounds= 1\ntill_first_fail= True\nlog_dir= logs\n" >c.ini
assay campaign c.ini --memory 1MiB --shard 1/1 2>&1 | sed 's/   left .*//'
assay campaign merge logs/
cut -d, -f1-7 logs/measurements.csv
