"""What differs between two states of a file: lines and words, images, or a description."""
