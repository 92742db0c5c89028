"""What every part may know: immutable types, small pure rules, listeners. No I/O, no Qt, no screen texts."""
