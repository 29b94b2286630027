"""NCLRegressor, its fitted state, intervals, Huber's loss and streams of rows."""
