printf "assay-net 1\ninput x float32 1x3x8x8\n%%0 = Conv2d(x, w)\noutput y %%0\n" >x.net; assay layers x.net
