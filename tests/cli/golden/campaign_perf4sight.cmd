# A configuration and profiles as perf4sight has them: its own keys are named
# together, and its files are learned from with the campaign's networks.
mkdir -p nets profiles/latency profiles/memory
for level in 0 50; do
    assay prune squeezenet1_1 --percent "$level" -o "nets/squeezenet1_1_$level.net" >output 2>&1 ||
        cat output
    {
        echo 'passed|latency|test_var|bs|dataset|net_name|model'
        for bs in 2 4 8 16 32; do
            echo "True|$((50 + bs * (100 - level) / 10))|latency|$bs|imagenet|squeezenet1_1|x.py"
        done
    } >"profiles/latency/squeezenet1_1_$level-gt.csv"
    {
        echo 'passed|mem_used|capacity|test_var|bs|dataset|net_name|model'
        for bs in 2 4 8 16 32; do
            echo "True|$((1600 + bs * (100 - level) / 4))|7859|memory|$bs|imagenet|squeezenet1_1|x.py"
        done
        echo "False|1|7859|memory|4096|imagenet|squeezenet1_1|x.py"
    } >"profiles/memory/squeezenet1_1_$level-gt.csv"
done
cat >config.ini <<END
[profile]
run_profiling= False
subset_name= random_pruning
local_model_loc= nets
device= tx2
[fingerprint]
loc= /home/nvidia/fingerprints
performance_model_type: dec_tree
backfill_mem_avail: False
stage= training
memory_logs= ['profiles/memory']
latency_logs= ['profiles/latency']
END
assay campaign config.ini | grep -E '^(training|device|memory|made)' | awk '{print $1, $2, $3}'
ls ./*.fp
