"""What the model sees: pure rules over a log of events. No Qt, no I/O, no clock."""
