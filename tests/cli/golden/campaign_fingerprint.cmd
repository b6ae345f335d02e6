cat >config.ini <<END
[profile]
run_profiling= False
device= board
log_dir= logs
[fingerprint]
memory_model= True
latency_model= True
train_nets= ['tiny', 'small']
train_logs= [0,40,80]
latency_logs= $inputs/device
memory_logs= $inputs/device
evaluate= True
eval_nets= ['tiny']
eval_logs= [20,60]
END
assay campaign config.ini 2>/dev/null |
    sed 's/  [0-9.]* [kMG]*B$//; s/[0-9][0-9]*\.[0-9][0-9]*/#/g; s/  */ /g'
head -n 1 logs/board.fp
