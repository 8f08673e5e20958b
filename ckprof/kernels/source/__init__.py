"""From instances to source trees."""
