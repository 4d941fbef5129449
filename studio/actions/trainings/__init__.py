"""Trainings of voices: started, measured, heard and chosen from."""
