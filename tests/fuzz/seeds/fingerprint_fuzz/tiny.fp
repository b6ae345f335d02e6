assay fingerprint 4
device 
capacity_mb 512
available_mb 450
lane -
seed 0
network 0 tiny
count parameters 14362
count norm_parameters 0
count parameter_tensors 20
count norm_elements 221184
count n_norm 6
count relu_elements 221184
count n_relu 6
count add_elements 0
count n_add 0
count concat_elements 0
count n_concat 0
count max_pool_inputs 0
count max_pool_outputs 0
count max_pool_taps 0
count n_max_pool 0
count avg_pool_inputs 8192
count n_avg_pool 1
count saved_bytes 1818624
conv 3 16 3 3 1 1 1 1 1 64 64 0
conv 16 16 1 1 1 1 0 0 1 64 64 0
conv 16 16 3 3 2 2 1 1 1 64 64 0
conv 16 32 1 1 1 1 0 0 1 32 32 0
conv 32 32 3 3 1 1 1 1 1 32 32 0
conv 32 32 1 1 2 2 0 0 1 32 32 0
dense 32 10
row training 1 4.8631 93.458 passed
row training 2 4.8951 96.196 passed
row training 4 4.826 99.023 passed
row training 8 6.4982 105.7 passed
row training 16 12.8996 121.267 passed
row training 32 25.8405 154.22 passed
row training 64 53.53 227.601 passed
network 80 tiny
count parameters 673
count norm_parameters 0
count parameter_tensors 20
count norm_elements 41472
count n_norm 6
count relu_elements 41472
count n_relu 6
count add_elements 0
count n_add 0
count concat_elements 0
count n_concat 0
count max_pool_inputs 0
count max_pool_outputs 0
count max_pool_taps 0
count n_max_pool 0
count avg_pool_inputs 1536
count n_avg_pool 1
count saved_bytes 380928
conv 3 3 3 3 1 1 1 1 1 64 64 0
conv 3 3 1 1 1 1 0 0 1 64 64 0
conv 3 3 3 3 2 2 1 1 1 64 64 0
conv 3 6 1 1 1 1 0 0 1 32 32 0
conv 6 6 3 3 1 1 1 1 1 32 32 0
conv 6 6 1 1 2 2 0 0 1 32 32 0
dense 6 10
row training 1 4.7211 88.957 passed
row training 2 4.7765 90.434 passed
row training 4 4.889 93.452 passed
row training 8 4.7241 92.017 passed
row training 16 4.7659 96.294 passed
row training 32 4.8643 105.351 passed
row training 64 7.8896 118.405 passed
batches training 1 64
range training weights 609 14064
range training weight_gradients 609 14064
range training input_map 52230 225312
range training input_gradient 39942 213024
range training output_map 41482 221194
range training output_gradient 41482 221194
range training im2col_forward 210438 643104
range training im2col_backward_input 190474 1015818
range training im2col_backward_weights 210438 643104
range training gemm_forward 811068 15401280
range training gemm_backward_input 479292 13631808
range training gemm_backward_weights 811068 15401280
range training fft_size_forward 126072 1632408
range training fft_size_backward_input 58752 1331712
range training fft_size_backward_weights 126072 1632408
range training fft_forward 3555081.2494709007 43751164.88461555
range training fft_backward_input 1499593.690676494 34499974.32200053
range training fft_backward_weights 3555081.2494709007 43751164.88461555
range training winograd_4x3_size_forward 84564 361152
range training winograd_4x3_size_backward_input 28944 184320
range training winograd_4x3_size_backward_weights 84564 361152
range training winograd_4x3_forward 165888 2801664
range training winograd_4x3_backward_input 82944 2359296
range training winograd_4x3_backward_weights 165888 2801664
range training winograd_3x2_size_forward 72576 339648
range training winograd_3x2_size_backward_input 25536 189440
range training winograd_3x2_size_backward_weights 72576 339648
range training winograd_3x2_forward 557568 9416704
range training winograd_3x2_backward_input 278784 7929856
range training winograd_3x2_backward_weights 557568 9416704
range training batch 1 1
range training largest_im2col 110592 294912
range training largest_maps 24576 131072
range training macs_1x1 64512 1835008
range training macs_3x3 746496 13565952
range training macs_other 0 0
range training macs_depthwise 0 0
range training macs_dense 60 320
range training n_conv 6 6
range training n_depthwise 0 0
range training n_dense 1 1
range training n_norm 6 6
range training n_relu 6 6
range training n_add 0 0
range training n_concat 0 0
range training n_max_pool 0 0
range training n_avg_pool 1 1
range training norm_traffic 41472 221184
range training relu_traffic 41472 221184
range training add_traffic 0 0
range training concat_traffic 0 0
range training max_pool_traffic 0 0
range training avg_pool_traffic 1536 8192
range training saved_bytes 380928 1818624
range training parameters 673 14362
range training parameter_tensors 20 20
part training latency
physical rate_1x1 1.1323132187122222
physical rate_3x3 0.44351363930257603
physical rate_other 2.6170447631780513
physical by_weights 0.4102616826283135
physical pad_rows 248.96068731188242
physical pad_depth 5.084930285853873
physical pad_rows_by_weights 14.000559428258514
physical pad_depth_by_weights 22.598297991624168
physical pad_pixels 64.37304677654326
physical small_batch_1x1 1.0336084984822747
physical small_batch_other 1.0392266783776662
physical depthwise 17.329391373865192
physical maps 50.9285964429709
physical elementwise 61.6551736922345
physical max_pool 38.991130591196686
physical parameters 0.5794833323320586
physical layer 0.04355156004501784
physical launch_conv 0.493126223069883
physical launch_norm 0.1967768160820896
physical launch_other 0.09839973200216243
physical ragged 12.997043530398896
physical ragged_concat 389.91130591196674
physical lane 1
calibration levels physical unknown - 0 0 - - - - - - -
calibration networks physical unknown - 0 0 - - - - - - -
family tiny
curve 0 15401280 -1.2804325120886102 -0.2456428958086414 -1.0879797628290613 -0.15880154912104702 -0.12118776593447993 1.563136368102272
curve 1 15401280 -0.7450582129448298 -0.9313230031708505 -1.164154449953967 -0.2445729393002867 -1.1167615968311826 -0.19103090762774835 -0.11775121932022987 1.562903750262915
own rate_1x1 0.6598013713842167
own rate_3x3 0.18855668146519838
own rate_other 0.635377702260715
own by_weights 0.23050789865965782
own pad_rows 17.863329842488874
own pad_depth 6.012221259338588
own pad_rows_by_weights 11.063293795936229
own pad_depth_by_weights 18.24968977165653
own pad_pixels 63.11406015199995
own small_batch_1x1 1.0286577079657293
own small_batch_other 1.0807749638904112
own depthwise 17.32562339941384
own maps 39.490848003055696
own elementwise 231.13480236092155
own max_pool 38.98265264868115
own parameters 0.5814740887854871
own layer 0.014200610184683049
own launch_conv 0.49436606269624445
own launch_norm 0.1970474400910595
own launch_other 0.09831486909120543
own ragged 12.99421754956038
own ragged_concat 389.82652648681164
own lane 1
bias 0 0 0.007257014375013429 2
bias 0 1 0.023956362756115953 2
bias 0 2 0.006471948531455881 2
bias 0 3 -0.015387222605988002 2
bias 0 4 -0.03880484919674416 2
bias 0 5 -0.030736458660649977 2
bias 0 6 0.056041485210199526 2
bias 1 0 0.007738572487433582 2
bias 1 1 0.02450973572145747 2
bias 1 2 0.007473322961234548 2
bias 1 3 -0.015185838809192703 2
bias 1 4 -0.03801035060993515 2
bias 1 5 -0.03571904612651914 2
bias 1 6 0.05642190568655571 2
bias 2 0 0.02206316496118915 2
bias 2 1 0.037177357740929604 2
bias 2 2 0.005518607364590217 2
bias 2 3 -0.02858748045021412 2
bias 2 4 0.03330384336915754 2
bias 2 5 -0.09088734174745605 2
bias 2 6 -0.053434608758131316 2
part training memory
physical context 85.35202327327013
physical small_batch 3.506190968151362
physical parameters 3.085635164033455
physical activations 0.919049284953877
physical winograd_largest 0.5828904122213628
physical maps_largest 0.16942088785492332
physical im2col_largest 0.054565676745520555
physical packed 1
physical ragged 0.5
physical ragged_largest 0.3
physical layers 0.5
physical winograd_weights 0.5
physical images 1.2
physical floor 86.2893466879714
physical ceiling 910.4040000000003
physical limit 254.91312000000005
physical lane 1
calibration levels physical unknown - 0 0 - - - - - - -
calibration networks physical unknown - 0 0 - - - - - - -
family tiny
curve 0 15401280 -0.7991239322581539 0.8520987689634815 4.256716937319832 2.56023106621834 4.503053022891373 6.813888457035525 -1.0378785249430647 0.8025684630429866
curve 1 15401280 -0.4629206634462052 -0.5786504533529006 -0.7233124801260196 0.8547339348593896 4.254285407082837 2.5575011756036186 4.503107909508539 6.813888457035525 -1.0492714803820495 0.7870966302266534
own context 85.35202327327013
own small_batch 3.506190968151362
own parameters 3.085635164033455
own activations 0.919049284953877
own winograd_largest 0.5828904122213628
own maps_largest 0.16942088785492332
own im2col_largest 0.054565676745520555
own packed 1
own ragged 0.5
own ragged_largest 0.3
own layers 0.5
own winograd_weights 0.5
own images 1.2
own floor 86.2893466879714
own ceiling 910.4040000000003
own limit 254.91312000000005
own lane 1
bias 0 0 -0.006972632781494473 2
bias 0 1 0.02537994064481293 2
bias 0 2 0.05009536420092431 2
bias 0 3 0.002901480353856063 2
bias 0 4 -0.018286356048595246 2
bias 0 5 -0.05915194680138211 2
bias 0 6 0.029976898972826134 2
bias 1 0 -0.006669855190360487 2
bias 1 1 0.025954105306134 2
bias 1 2 0.05100649138418013 2
bias 1 3 0.003506984665666329 2
bias 1 4 -0.01861773133809641 2
bias 1 5 -0.05974872196633177 2
bias 1 6 0.029418944052618655 2
bias 2 0 -0.004920220596768358 2
bias 2 1 0.017168774830674322 2
bias 2 2 0.02930567119627921 2
bias 2 3 -0.021494642025887772 2
bias 2 4 -0.02688704790907808 2
bias 2 5 -0.020172645770226285 2
bias 2 6 0.026724538241736276 2
end
