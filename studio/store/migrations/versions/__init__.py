"""The steps that the tables came about by, each with the step before it; none is changed once it was released."""
