assay plot run.assay -o plot.gif
