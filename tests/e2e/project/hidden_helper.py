"""Found by `lost` at run time only."""
