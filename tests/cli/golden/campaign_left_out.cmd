# Networks that cannot be made are named, the rest is measured, and the last line
# says that some are missing.
printf "[create_network_dataset]\nnetworks= ['squeezenet', 'resnet18']\npruning_perc= [0]\nmodel_path= nets\n[profile]\ndataset= cifar10\nbs= [1]\nstage= ['training']\nlog_dir= logs\n" >c.ini; assay campaign c.ini --dry-run
