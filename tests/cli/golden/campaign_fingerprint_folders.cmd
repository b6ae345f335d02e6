# train_logs may name folders; errors of the evaluation name keys of the
# configuration.
cat >config.ini <<END
[profile]
run_profiling= False
log_dir= logs
[fingerprint]
train_nets= ['tiny']
train_logs= ['$inputs/device']
evaluate= True
eval_nets= ['tiny']
END
assay campaign config.ini 2>errors | grep -E '^(training|inference|made)' |
    awk '{print $1, $2, $3}'
tail -n 1 errors
sed -i "s/'tiny'\]/'huge']/" config.ini
rm -r logs
assay campaign config.ini 2>&1 | tail -n 1
assay campaign config.ini >output 2>&1
echo "exit $?"
