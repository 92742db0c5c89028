@rem The Python that Helix Desktop itself runs on, for the sample projects: a system may have no other.
@"%SAMPLE_PROGRAM%" sample-python %*
