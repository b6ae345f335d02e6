# The name of a path never becomes a line of the script.
folder=$(printf 'a\n#SBATCH --output=x')
mkdir "$folder" 'it is "so" 100%'
config="[create_network_dataset]\nnetworks= ['resnet18']\npruning_perc= [0]\nmodel_path= nets\n[profile]\nbs= [1]\nlog_dir= "
dry() {
    printf "$config%s\n" "$1" >c.ini
    assay campaign c.ini --launcher slurm --dry-run 2>&1 |
        sed "s|'/[^ ]*/assay|'assay|; s|chdir=\"*/.*/|chdir=HERE/|; /^made/d"
}
(cd "$folder" && dry logs)
(cd 'it is "so" 100%' && dry "my logs")
dry "my #1 logs"
printf '[create_network_dataset]\nnetworks = ["resnet18"]\npruning_perc = [0]\nmodel_path = "nets"\n[profile]\nbs = [1]\nlog_dir = "a\\ntouch x"\n' >c.toml
assay campaign c.toml --launcher slurm --dry-run
