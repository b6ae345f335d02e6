mkdir logs; assay campaign merge logs; code=$?; ls logs; exit $code
