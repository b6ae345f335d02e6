# A wrong [fingerprint] section is reported before anything is measured.
try() {
    printf "[create_network_dataset]\nnetworks= ['resnet18', 'squeezenet']\npruning_perc= [0, 50]\nmodel_path= nets\n[profile]\ndataset= cifar10\nbs= [1,2,4,8]\nstage= ['training']\nlog_dir= logs\nrun_profiling= True\n%b" "$1" >c.ini
    assay campaign c.ini 2>&1 | grep -v '^made\|left out: squeeze'
}
try "[fingerprint]\ntrain_nets= ['resnet19']\n"
try "[fingerprint]\ntrain_logs= [30]\ntrain_nets= ['resnet18']\n"
try "[fingerprint]\ntrain_logs= [0]\ntrain_nets= ['resnet18']\n"
try "[fingerprint]\nstage= 'inference'\n"
try "[fingerprint]\nmemory_logs= ['nowhere']\n"
try "[fingerprint]\nevaluate= True\n"
try "[fingerprint]\nevaluate= True\neval_nets= ['vgg16']\n"
try "[fingerprint]\ntrain_nets= ['squeezenet']\n"
try "network= ['resnet18', 'vgg16']\n"
printf "[a]\nmodel= ['nets/resnet18_0.net', 'nets/typo_0.net']\n" >tests.ini
try "test_config= tests.ini\n"
mkdir logs
echo >logs/device.fp
try "[fingerprint]\n"
ls logs
