"""One file a command: `configure(parser)` declares its arguments, `run(args)` does the work and
returns the exit code. A command's imports happen when it is chosen."""
