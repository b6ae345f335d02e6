assay fingerprint 1
device 
capacity_mb 512
available_mb 450
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
network 40 tiny
count parameters 5202
count norm_parameters 0
count parameter_tensors 20
count norm_elements 126720
count n_norm 6
count relu_elements 126720
count n_relu 6
count add_elements 0
count n_add 0
count concat_elements 0
count n_concat 0
count max_pool_inputs 0
count max_pool_outputs 0
count max_pool_taps 0
count n_max_pool 0
count avg_pool_inputs 4864
count n_avg_pool 1
count saved_bytes 1062912
conv 3 9 3 3 1 1 1 1 1 64 64 0
conv 9 9 1 1 1 1 0 0 1 64 64 0
conv 9 9 3 3 2 2 1 1 1 64 64 0
conv 9 19 1 1 1 1 0 0 1 32 32 0
conv 19 19 3 3 1 1 1 1 1 32 32 0
conv 19 19 1 1 2 2 0 0 1 32 32 0
dense 19 10
row training 1 4.8119 91.502 passed
row training 2 4.7464 91.459 passed
row training 4 4.7138 93.22 passed
row training 8 4.8944 101.754 passed
row training 16 6.8934 111.566 passed
row training 32 13.5628 129.258 passed
row training 64 26.5978 164.991 passed
batches training 1 64
range training weights 5024 14064
range training weight_gradients 5024 14064
range training input_map 134163 225312
range training input_gradient 121875 213024
range training output_map 126730 221194
range training output_gradient 126730 221194
range training im2col_forward 419603 643104
range training im2col_backward_input 582666 1015818
range training im2col_backward_weights 419603 643104
range training gemm_forward 5668286 15401280
range training gemm_backward_input 4672958 13631808
range training gemm_backward_weights 5668286 15401280
range training fft_size_forward 663408 1632408
range training fft_size_backward_input 488376 1331712
range training fft_size_backward_weights 663408 1632408
range training fft_forward 17993117.806613814 43751164.88461555
range training fft_backward_input 12616536.553748356 34499974.32200053
range training fft_backward_weights 17993117.806613814 43751164.88461555
range training winograd_4x3_size_forward 212112 361152
range training winograd_4x3_size_backward_input 100548 184320
range training winograd_4x3_size_backward_weights 212112 361152
range training winograd_4x3_forward 1080576 2801664
range training winograd_4x3_backward_input 831744 2359296
range training winograd_4x3_backward_weights 1080576 2801664
range training winograd_3x2_size_forward 191328 339648
range training winograd_3x2_size_backward_input 96672 189440
range training winograd_3x2_size_backward_weights 191328 339648
range training winograd_3x2_forward 3631936 9416704
range training winograd_3x2_backward_input 2795584 7929856
range training winograd_3x2_backward_weights 3631936 9416704
range training batch 1 1
range training largest_im2col 175104 294912
range training largest_maps 73728 131072
range training macs_1x1 599296 1835008
range training macs_3x3 5068800 13565952
range training macs_other 0 0
range training macs_depthwise 0 0
range training macs_dense 190 320
range training n_conv 6 6
range training n_depthwise 0 0
range training n_dense 1 1
range training n_norm 6 6
range training n_relu 6 6
range training n_add 0 0
range training n_concat 0 0
range training n_max_pool 0 0
range training n_avg_pool 1 1
range training norm_traffic 126720 221184
range training relu_traffic 126720 221184
range training add_traffic 0 0
range training concat_traffic 0 0
range training max_pool_traffic 0 0
range training avg_pool_traffic 4864 8192
range training saved_bytes 1062912 1818624
range training parameters 5202 14362
range training parameter_tensors 20 20
part training latency
physical rate_1x1 1.3861988444889268
physical rate_3x3 0.7542117234877224
physical rate_other 2.0813946643678527
physical by_weights 0.7376322422941293
physical pad_rows 118.82978913161422
physical pad_depth 16.087067564043604
physical pad_rows_by_weights 19.784904231313153
physical pad_depth_by_weights 26.655745151443078
physical pad_pixels 63.72151941865132
physical small_batch_1x1 1.0295395158109257
physical small_batch_other 1.0631578486590159
physical depthwise 17.423973261409575
physical maps 50.90172693051608
physical elementwise 56.78458340271033
physical max_pool 39.20393983817153
physical parameters 0.5828470392161181
physical layer 0.0580447081219101
physical launch_conv 0.4933017386615406
physical launch_norm 0.19658580968419778
physical launch_other 0.09828802022994652
calibration levels physical unknown - 0 0 - - - - -
calibration networks physical unknown - 0 0 - - - - -
family tiny
curve 0 15401280 -1.318000748427813 -0.24255736479289972 -1.1426705292569903 -0.26046682399308296 -0.11098796481391734 1.565722120723999
curve 1 15401280 -0.22346766998579268 -0.5586675995317381 -1.3966528153130087 -0.2418217018093059 -1.1428499437936113 -0.28752011512525305 -0.10846039565709158 1.5655544878948515
own rate_1x1 0.9436960561057325
own rate_3x3 0.33751733707504594
own rate_other 1.0035785141900668
own by_weights 0.41034277435446254
own pad_rows 25.359487828958528
own pad_depth 10.944072846511911
own pad_rows_by_weights 13.984874003468805
own pad_depth_by_weights 21.559109505643725
own pad_pixels 62.0951004736606
own small_batch_1x1 1.002330950580759
own small_batch_other 0.9546498138779245
own depthwise 17.42245149327645
own maps 51.83566065230366
own elementwise 202.08840693000607
own max_pool 39.20051585987201
own parameters 0.5826517581409714
own layer 0.019963857720672475
own launch_conv 0.4943289522560326
own launch_norm 0.1967065021428952
own launch_other 0.0983249276545501
bias 0 0 0.021181491153883875 2
bias 0 1 0.012718795968719058 2
bias 0 2 -0.03365069146638047 2
bias 0 3 -0.00045072252884670316 2
bias 0 4 -0.055528975643439546 2
bias 0 5 0.008090824993019417 2
bias 0 6 0.05528076887952452 2
bias 1 0 0.021525370094383586 2
bias 1 1 0.013105360035587163 2
bias 1 2 -0.032992684194824665 2
bias 1 3 -0.0014215142850228847 2
bias 1 4 -0.057356282581359906 2
bias 1 5 0.008032375749797665 2
bias 1 6 0.05631386337297077 2
bias 2 0 0.04197625723916382 2
bias 2 1 0.03133757744094705 2
bias 2 2 -0.03372376493831942 2
bias 2 3 -0.050894794669111496 2
bias 2 4 -0.024494565754596187 2
bias 2 5 0.01967406322441706 2
bias 2 6 0.045470141046195955 2
part training memory
physical context 84.44282733653236
physical small_batch 4.889603724005922
physical parameters 3.012156259629497
physical activations 0.985961873026118
physical winograd_all 0.019083797757237387
physical winograd_largest 0.400401910325011
physical maps_largest 0.18150197479553076
physical im2col_largest 0.047473797143894304
physical floor 86.7453548039792
physical ceiling 910.4040000000003
physical limit 254.91312000000005
calibration levels physical unknown - 0 0 - - - - -
calibration networks physical unknown - 0 0 - - - - -
family tiny
curve 0 15401280 -0.9367568729794467 0.8391665641491687 4.261012695681526 2.6398574467203972 4.5143433240654325 6.813888457035525 -0.9797989964910402 0.6796549324641301
curve 1 15401280 -0.15802088052739374 -0.3950518735032415 -0.9876278865057871 0.8393400218695555 4.259822263702495 2.6402959818591696 4.514425257531588 6.813888457035525 -0.9850228175226479 0.6871596282704399
own context 84.44282733653236
own small_batch 4.889603724005922
own parameters 3.012156259629497
own activations 0.985961873026118
own winograd_all 0.019083797757237387
own winograd_largest 0.400401910325011
own maps_largest 0.18150197479553076
own im2col_largest 0.047473797143894304
own floor 86.7453548039792
own ceiling 910.4040000000003
own limit 254.91312000000005
bias 0 0 -0.006446439281157274 2
bias 0 1 0.005747479964177304 2
bias 0 2 0.00748499553686628 2
bias 0 3 0.03487950146742622 2
bias 0 4 -0.0014179827958338206 2
bias 0 5 -0.0671717166629808 2
bias 0 6 0.030454837703062843 2
bias 1 0 -0.006468075764916234 2
bias 1 1 0.005792132741036619 2
bias 1 2 0.0076130954584998495 2
bias 1 3 0.03496329353044581 2
bias 1 4 -0.0014355170361362787 2
bias 1 5 -0.06725105076608011 2
bias 1 6 0.03038138658152072 2
bias 2 0 0.006429380647869019 2
bias 2 1 0.00500963040033019 2
bias 2 2 -0.010850959962555175 2
bias 2 3 0.011326434336369222 2
bias 2 4 -0.003649404569620915 2
bias 2 5 -0.030040682353450286 2
bias 2 6 0.02228153925398571 2
end
