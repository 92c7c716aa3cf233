"""Two worker processes that run jobs one at a time or concurrently."""

import multiprocessing


class WorkerPair:
    """Context manager of two processes with the same data.

    Parameters
    ----------
    work : function
        Called with a pipe and `arguments` in each process. It sends one message to the pipe, then
        receives calls and sends a reply to each, until it receives None.
    *arguments

    Attributes
    ----------
    first_message : object
        What `work` sent first, in the first process.
    """

    def __init__(self, work, *arguments):
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for _ in range(2):
            here, there = context.Pipe()
            # In daemonic processes, joblib would set n_jobs=1.
            process = context.Process(target=work, args=(there, *arguments))
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)
        self.first_message, _ = [pipe.recv() for pipe in self.pipes]

    def run_first(self, *call):
        """Return the reply of the first process to a call."""
        self.pipes[0].send(call)
        return self.pipes[0].recv()

    def run_both(self, *call):
        """Return the replies of both processes to the same call, made concurrently."""
        for pipe in self.pipes:
            pipe.send(call)
        return [pipe.recv() for pipe in self.pipes]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            if process.is_alive():
                pipe.send(None)
            process.join()
