# Runs a model.
# A campaign of which no test passed ends with 1, also when it is run again.
printf "[create_network_dataset]\nnetworks= ['squeezenet1_1']\npruning_perc= [90]\nmodel_path= nets\n[profile]\nstage= 'inference'\nprofile_variables= 'latency'\nbs= [1,2]\nrounds= 1\ntill_first_fail= True\nlog_dir= logs\n" >c.ini
assay campaign c.ini --memory 1MiB 2>messages; echo "exit $?"
grep ^assay: messages
assay campaign c.ini --memory 1MiB
