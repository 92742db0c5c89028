"""The command line: parser, and one module a command."""
