"""Taking the steps of a run, and hearing what is said to it, whichever workflow it is."""
