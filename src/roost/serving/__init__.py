"""Pure decisions about what runs on Ray: no I/O, no clock."""
