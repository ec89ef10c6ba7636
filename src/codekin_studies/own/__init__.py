"""Every assignment on data of one's own: a file, any scikit-learn learner, up to twelve classes."""
