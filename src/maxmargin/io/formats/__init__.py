"""Readers and writers of CoNLL columns, SVM-hmm sequences and svmlight rows."""
