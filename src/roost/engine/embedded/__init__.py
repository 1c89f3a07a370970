"""The embedded Ray cluster: started, adopted and ended by this server; touches no other processes."""
