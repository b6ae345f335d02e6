# Rows of the other stage, and memory values in the folder for latency, are left
# out.
mkdir memory
sed '1!s/,training,/,inference,/' "$inputs/device/measurements.csv" >memory/measurements.csv
cp "$inputs"/device/layers.csv "$inputs"/device/networks.csv "$inputs"/device/network_ops.csv memory
cat >config.ini <<END
[profile]
run_profiling= False
device= board
log_dir= logs
[fingerprint]
memory_model= True
latency_model= True
stage= 'training'
train_nets= ['tiny', 'small']
latency_logs= $inputs/device
memory_logs= memory
END
assay campaign config.ini 2>/dev/null | grep -E '^(made|wrote)' | sed 's/  [0-9.]* [kMG]*B$//'
assay fingerprint show logs/board.fp | grep -E '^(training|inference)' | awk '{print $1, $2, $3}'
