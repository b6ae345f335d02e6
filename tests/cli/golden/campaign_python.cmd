printf "[create_network_dataset]\nnetworks= ['nets/mine.py']\npruning_perc= [0]\nmodel_path= nets\n" >c.ini; assay campaign c.ini; code=$?; ls; exit $code
