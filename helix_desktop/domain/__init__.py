"""What every part may know: immutable types and small pure rules. No I/O, no Qt, no texts for a screen."""
