# Two pickles that would call something: one that torch.save did not write, and
# one in a checkpoint, with a name that would colour the screen red.
printf '\200\002cposix\nsystem\n.' >evil.pkl
assay weights show evil.pkl
{
    printf '\200\002\212\012\154\374\234\106\371\040\152\250\120\031.'
    printf '\200\002M\351\003.'
    printf '\200\002}X\015\000\000\000little_endian\210s.'
    printf '\200\002c\033[31mposix\nsystem\n.'
} >evil.pth
assay weights show evil.pth
