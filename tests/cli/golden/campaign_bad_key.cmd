printf "[profile]\nbs= [8,1]\nlog_dri= logs\n" >c.ini; assay campaign c.ini
