"""A ridge without a closed form, and a progress callback that counts."""

from sklearn.linear_model import Ridge


class MyRidge(Ridge):
    """Ridge of another class: not in the table of closed forms, though it has one."""


class CountedPieces:
    """A progress callback that counts the finished pieces of work."""

    def __init__(self):
        self.total, self.done = None, 0

    def setup(self, estimator, context):
        self.total = context.max_subtasks

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.done += context.task_name == "piece"

    def teardown(self, estimator, context):
        pass
