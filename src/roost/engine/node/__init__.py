"""A node of this machine that joins a cluster: started, watched, drained and ended by `roost node`."""
