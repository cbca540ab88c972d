"""What of the standard library something of ours stands for, said once for all runtimes."""
