"""What the earlier study reported of its generator, and what its network costs."""

PARITY_GAIN = 1.5  # of loops that start at the right parity
BATCH = 100  # images in one product
# Seconds of a call with copies home, by images, with one card in each of two nodes.
ONE_EACH = {10: 0.039, 100: 0.065, 1000: 0.278, 5248: 1.014}
COPY_OF_1000 = 60e-3  # seconds in which the pictures of 1000 images go home
