assay compare one.assay --a two.assay --b three.assay
