"""A judge for any kernel: right, wrong or dishonest, faster or slower, by an operation's reference."""
