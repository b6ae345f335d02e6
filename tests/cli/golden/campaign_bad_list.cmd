printf "[profile]\nbs= [8,1\nlog_dir= logs\n" >c.ini; assay campaign c.ini
