# Runs a model.
# A label that is not what the tests run on is said, and both are stored.
printf "[create_network_dataset]\nnetworks= ['squeezenet1_1']\npruning_perc= [90]\nmodel_path= nets\n[profile]\ndevice= tx2\nstage= 'inference'\nprofile_variables= 'latency'\nbs= [1]\nrounds= 1\nlog_dir= logs\n" >c.ini
assay campaign c.ini --memory 1MiB 2>&1 | grep 'device=' | sed "s/machine's .*; both/machine's ...; both/"
awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i}
    NR == 2 {print ($at["machine"] != "" ? "its machine is named" : "nothing"), $at["framework"]}' logs/measurements.csv
