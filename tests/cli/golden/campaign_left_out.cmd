# What cannot be is left out and named, the rest is measured, and the end says
# that something is missing.
printf "[create_network_dataset]\nnetworks= ['squeezenet', 'resnet18']\npruning_perc= [0]\nmodel_path= nets\n[profile]\ndataset= cifar10\nbs= [1]\nstage= ['training']\nlog_dir= logs\n" >c.ini; assay campaign c.ini --dry-run
